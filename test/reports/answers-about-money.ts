// The answers of docs/queries.md about money, customers and cancellations, worked out from the API's records.

import { type Answer, grouped, type Row, round, sum, taking, total, totalKnown } from './answer-parts.ts'
import { type ApiRental, type ApiWorld, addDays, at, codeOf, daysBetween } from './api-world.ts'

const owing = (world: ApiWorld): ApiRental[] => taking(world).filter(({ balance }) => balance > 1e-9)

/** By the titles of the questions. */
export const money: Readonly<Record<string, Answer>> = {
  'Revenue of each company this year': (world) =>
    grouped(
      taking(world).filter(({ departure }) => departure.day.startsWith(`${world.year}-`)),
      ({ companyId, companyName: name, currency }) => [companyId, name, currency],
      (group) => [
        group.length,
        total('totalToPay')(group),
        total('totalPaid')(group),
        totalKnown('commissionPrice')(group),
      ],
    ).map(([, ...row]) => row),

  'Monthly revenue compared with the year before': (world) => {
    const months = grouped(
      taking(world),
      ({ departure, currency }) => [departure.day.slice(0, 7), currency],
      (group) => [total('totalToPay')(group)],
    )
    return months.map(([month, currency, sold]) => {
      const yearBefore = `${Number(String(month).slice(0, 4)) - 1}${String(month).slice(4)}`
      const before = months.find((each) => each[0] === yearBefore && each[1] === currency)?.[2]
      return [month, currency, before, sold, before ? round((100 * Number(sold)) / Number(before), 0) : null]
    })
  },

  'Revenue by country': (world) =>
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

  'Balances to be paid before departures in the next 30 days': (world) =>
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

  'Overdue balances: departed and not paid': (world) =>
    grouped(
      owing(world).filter(({ departure }) => departure.day < world.today),
      ({ companyId, companyName: name, currency }) => [companyId, name, currency],
      (group) => [
        group.length,
        sum(group, ({ balance }) => balance),
        Math.max(...group.map(({ departure }) => daysBetween(departure.day, world.today))),
      ],
    ).map(([, ...row]) => row),

  'Payments by method': (world) =>
    grouped(
      world.records('rental_payments'),
      (payment) => [world.find('rental_payment_methods', at(payment, 'method.id'))?.name, codeOf(payment.currency)],
      (group) => [group.length, sum(group, ({ price }) => price)],
    ),

  'Deposits held, by date of return': (world) =>
    world.rentals
      .filter(({ record }) => record.depositStatus === 'RECEIVED')
      .map(({ id, resourceName, arrival, record }) => [
        id,
        resourceName,
        arrival.day,
        record.depositPrice,
        codeOf(record.depositCurrency),
      ]),

  'Best-selling extras': (world) =>
    grouped(
      taking(world).flatMap(({ options, currency }) => options.map((option) => ({ option, currency }))),
      ({ option, currency }) => [at(option, 'option.name'), currency],
      (group) => [
        sum(group, ({ option }) => option.quantity),
        sum(group, ({ option }) => Number(option.price) * Number(option.quantity)),
      ],
    ),
}

/** How many there are, how many of them are cancelled, and which share that is. */
function calledOff(rentals: readonly ApiRental[]): Row {
  const canceled = rentals.filter((each) => each.canceled).length
  return [rentals.length, canceled, round((100 * canceled) / rentals.length, 1)]
}

/** By the titles of the questions. */
export const customers: Readonly<Record<string, Answer>> = {
  'Reasons for cancellations, and their cost': (world) =>
    grouped(
      world.rentals.filter(({ canceled }) => canceled),
      ({ status, currency }) => [
        status.slice('CANCELED_'.length).toLowerCase().replaceAll('_', ' ') || 'not said',
        currency,
      ],
      (group) => [group.length, total('totalToPay')(group), total('totalPaid')(group)],
    ),

  'Cancellation rate of each company': (world) =>
    grouped(
      world.rentals.filter(({ status }) => status !== 'PENDING'),
      ({ companyId, companyName: name }) => [companyId, name],
      calledOff,
    ).map(([, ...row]) => row),

  'Booking lead time by language of the customer': (world) =>
    grouped(
      taking(world).map((rental) => ({ rental, user: world.find('users', at(rental.record, 'user.id')) })),
      ({ user }) => [at(user, 'language.code')],
      (group) => [
        group.length,
        new Set(group.flatMap(({ user }) => user?.id ?? [])).size,
        round(sum(group, ({ rental }) => rental.departure.ms - rental.createdMs) / 86_400_000 / group.length, 0),
      ],
    ),

  'Bookings and cancellations by month of booking': (world) =>
    grouped(
      world.rentals.filter(({ status }) => status !== 'PENDING'),
      ({ createdMs }) => [new Date(createdMs).toISOString().slice(0, 7)],
      calledOff,
    ),
}
