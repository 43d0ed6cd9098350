// The answers of docs/queries.md about money, customers and cancellations, worked out from the API's records.

import { type Answer, grouped, round, sum, taking, total } from './answer-parts.ts'
import { type ApiRental, type ApiWorld, addDays, at, codeOf, daysBetween } from './api-world.ts'

const owing = (world: ApiWorld): ApiRental[] => taking(world).filter(({ balance }) => balance > 1e-9)

/** By the titles of the questions. */
export const money: Readonly<Record<string, Answer>> = {
  'What did each company earn this year?': (world) =>
    grouped(
      taking(world).filter(({ departure }) => departure.day.startsWith(`${world.year}-`)),
      ({ companyId, companyName: name, currency }) => [companyId, name, currency],
      (group) => [group.length, total('totalToPay')(group), total('totalPaid')(group), total('commissionPrice')(group)],
    ).map(([, ...row]) => row),

  'How do the months compare with the year before?': (world) => {
    const years = [String(world.year - 1), String(world.year)]
    const counted = taking(world).filter(({ departure }) => departure.day.slice(0, 4) >= (years[0] ?? ''))
    return grouped(
      counted,
      ({ departure, currency }) => [departure.day.slice(5, 7), currency],
      (group) =>
        years.map((year) => {
          const own = group.filter(({ departure }) => departure.day.startsWith(year))
          return own.length === 0 ? '' : total('totalToPay')(own)
        }),
    )
  },

  'What does each country bring?': (world) =>
    grouped(
      taking(world),
      ({ resourceId, currency }) => [
        at(
          world.find('resources', resourceId),
          'harbour.city.administrativeAreaLevel2.administrativeAreaLevel1.country.code',
        ),
        currency,
      ],
      (group) => [group.length, total('totalToPay')(group), round(total('totalToPay')(group) / group.length, 2)],
    ),

  'Who still has to pay before departing in the next 30 days?': (world) =>
    owing(world)
      .filter(({ departure }) => departure.day >= world.today && departure.day <= addDays(world.today, 30))
      .map(({ id, companyName: name, departure, record, balance, currency }) => [
        id,
        name,
        departure.day,
        record.totalToPay,
        record.totalPaid,
        balance,
        currency,
        daysBetween(world.today, departure.day),
      ]),

  'What is overdue: departed and not paid?': (world) =>
    grouped(
      owing(world).filter(({ departure }) => departure.day < world.today),
      ({ companyId, companyName: name, currency }) => [companyId, name, currency],
      (group) => [
        group.length,
        sum(group, ({ balance }) => balance),
        Math.max(...group.map(({ departure }) => daysBetween(departure.day, world.today))),
      ],
    ).map(([, ...row]) => row),

  'How do people pay?': (world) =>
    grouped(
      world.records('rental_payments'),
      (payment) => [world.find('rental_payment_methods', at(payment, 'method.id'))?.name, codeOf(payment.currency)],
      (group) => [group.length, sum(group, ({ price }) => price)],
    ),

  'Which deposits do we hold, and until when?': (world) =>
    world.rentals
      .filter(({ record }) => record.depositStatus === 'RECEIVED')
      .map(({ id, resourceName, arrival, record }) => [
        id,
        resourceName,
        arrival.day,
        record.depositPrice,
        codeOf(record.depositCurrency),
      ]),

  'Which extras sell best?': (world) =>
    grouped(
      taking(world).flatMap(({ options, record }) =>
        options.map((option) => ({ option, currency: codeOf(record.depositCurrency) })),
      ),
      ({ option, currency }) => [at(option, 'option.name'), currency],
      (group) => [sum(group, ({ option }) => option.quantity), sum(group, ({ option }) => option.price)],
    ),
}

/** By the titles of the questions. */
export const customers: Readonly<Record<string, Answer>> = {
  'Why are rentals called off, and what does it cost?': (world) =>
    grouped(
      world.rentals.filter(({ canceled }) => canceled),
      ({ status, currency }) => [
        status.slice('CANCELED_'.length).toLowerCase().replaceAll('_', ' ') || 'not said',
        currency,
      ],
      (group) => [group.length, total('totalToPay')(group), total('totalPaid')(group)],
    ),

  'How long ahead do people book, and in which language do we answer?': (world) =>
    grouped(
      taking(world).map((rental) => ({ rental, user: world.find('users', at(rental.record, 'user.id')) })),
      ({ user }) => [at(user, 'language.code')],
      (group) => [
        group.length,
        new Set(group.flatMap(({ user }) => user?.id ?? [])).size,
        round(sum(group, ({ rental }) => rental.departure.ms - rental.createdMs) / 86_400_000 / group.length, 0),
      ],
    ),

  'How many rentals were booked each month, and how many of them were called off?': (world) =>
    grouped(
      world.rentals.filter(({ status }) => status !== 'PENDING'),
      ({ createdMs }) => [new Date(createdMs).toISOString().slice(0, 7)],
      (group) => [group.length, group.filter(({ canceled }) => canceled).length],
    ),
}
