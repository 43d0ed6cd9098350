// The answers of docs/queries.md about money, customers and cancellations, worked out from the API's records.

import { type Answer, grouped, type Row, round, sum, taking, total, totalKnown } from './answer-parts.ts'
import { type ApiRental, type ApiWorld, addDays, at, codeOf, daysBetween, monthsFrom } from './api-world.ts'

const owing = (world: ApiWorld): ApiRental[] =>
  taking(world).filter(({ balance }) => balance !== null && balance > 1e-9)
const perhapsOwing = (world: ApiWorld): ApiRental[] => [
  ...owing(world),
  ...taking(world).filter(({ paid }) => paid === null),
]

/** What is known to be paid. */
const paidIn = (rentals: readonly ApiRental[]): number | null => sumKnown(rentals, ({ paid }) => paid)

/** Of amounts that are all unknown, so is the sum. */
export const sumKnown = <Value>(rentals: readonly Value[], of: (rental: Value) => number | null): number | null =>
  rentals.every((rental) => of(rental) === null) ? null : sum(rentals, of)

/** Groups by the currency and by all that are named, and shows the first. */
export const byCurrencies = <
  Value extends { readonly currency: string | null; readonly currencies: readonly string[] },
>(
  values: readonly Value[],
  by: (value: Value) => Row,
  of: (group: readonly Value[]) => Row,
): Row[] => grouped(values, (value) => [value.currencies, ...by(value), value.currency], of).map(([, ...row]) => row)

/** Rentals on the books at the end of a past day, by what is known today. */
function onTheBooks(world: ApiWorld, month: string, day: string): number {
  const yesterday = addDays(world.today, -1)
  const dayOf = (time: unknown): string => new Date(String(time)).toISOString().slice(0, 10)
  return world.rentals.filter(({ record, departure, takesPlace, canceled }) => {
    if (!departure.day.startsWith(month) || dayOf(record.creationDatetime) > day) return false
    return takesPlace || (canceled && day < yesterday && dayOf(record.lastModificationDatetime) > day)
  }).length
}

const yearBack = (day: string): string => `${Number(day.slice(0, 4)) - 1}${day.slice(4)}`

/** By the titles of the questions. */
export const money: Readonly<Record<string, Answer>> = {
  'Bookings for the coming months against a year before': (world) => {
    const yesterday = addDays(world.today, -1)
    return monthsFrom(world.today, 36).flatMap((each) => {
      const month = each.slice(0, 7)
      const [now, before] = [
        onTheBooks(world, month, yesterday),
        onTheBooks(world, yearBack(month), yearBack(yesterday)),
      ]
      return now + before === 0 ? [] : [[`${month}-01`, now, before, true]]
    })
  },

  'Revenue of each company this year': (world) =>
    byCurrencies(
      taking(world).filter(({ departure }) => departure.day.startsWith(`${world.year}-`)),
      ({ companyId, companyName: name }) => [companyId, name],
      (group) => [group.length, total('totalToPay')(group), paidIn(group), totalKnown('commissionPrice')(group)],
    ).map(([, ...row]) => row),

  'Monthly revenue compared with the year before': (world) => {
    const months = byCurrencies(
      taking(world),
      ({ departure, currencies }) => [departure.day.slice(0, 7), currencies.join()],
      (group) => [total('totalToPay')(group)],
    )
    return months.map(([month, currencies, currency, sold]) => {
      const yearBefore = `${Number(String(month).slice(0, 4)) - 1}${String(month).slice(4)}`
      const before = months.find((each) => each[0] === yearBefore && each[1] === currencies)?.[3]
      return [month, currency, before, sold, before ? round((100 * Number(sold)) / Number(before), 0) : null]
    })
  },

  'Revenue by country': (world) =>
    byCurrencies(
      taking(world),
      ({ resourceId }) => [
        at(
          world.find('resources', resourceId),
          'harbour.city.administrativeAreaLevel2.administrativeAreaLevel1.country.code',
        ),
      ],
      (group) => [group.length, total('totalToPay')(group), round(total('totalToPay')(group) / group.length, 2)],
    ),

  'Balances to be paid before departures in the next 30 days': (world) =>
    perhapsOwing(world)
      .filter(({ departure }) => departure.day >= world.today && departure.day <= addDays(world.today, 30))
      .map(({ id, companyName: name, departure, record, paid, balance, currency }) => [
        id,
        name,
        departure.day,
        record.totalToPay,
        paid,
        balance,
        currency,
        daysBetween(world.today, departure.day),
      ]),

  'Overdue balances: departed and not paid': (world) =>
    byCurrencies(
      owing(world).filter(({ departure }) => departure.day < world.today),
      ({ companyId, companyName: name }) => [companyId, name],
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
      (group) => [
        group.length,
        group.every(({ price }) => (price ?? null) === null) ? null : sum(group, ({ price }) => price),
      ],
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
    byCurrencies(
      taking(world).flatMap(({ options, currency, currencies }) =>
        options.map((option) => ({ option, currency, currencies })),
      ),
      ({ option }) => [at(option, 'option.name')],
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
    byCurrencies(
      world.rentals.filter(({ canceled }) => canceled),
      ({ status }) => [
        status
          .replace(/^CANCELED_?/, '')
          .toLowerCase()
          .replaceAll('_', ' ') || 'not said',
      ],
      (group) => [group.length, total('totalToPay')(group), paidIn(group)],
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
