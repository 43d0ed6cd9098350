// The answers of docs/queries.md about closes and receipts, worked out from the API's records at the close and now.

import { grouped, type Row, sum } from './answer-parts.ts'
import { byCurrencies, sumKnown } from './answers-about-money.ts'
import { type ApiRental, type ApiWorld, at, codeOf } from './api-world.ts'

type Pair = { readonly before: ApiRental | undefined; readonly now: ApiRental | undefined }

const amountOf = ({ takesPlace, record }: ApiRental): number => (takesPlace ? Number(record.totalToPay ?? 0) : 0)
const counts = (world: ApiWorld): ApiRental[] => world.rentals.filter(({ status }) => status !== 'PENDING')

/** What a close keeps that is not about people. */
const keptOf = (rental: ApiRental, world: ApiWorld): string => {
  const { record, departure, arrival, companyId, resourceId, boatId, currencies, paid, takesPlace } = rental
  const names = ['status', 'referenceId', 'rentalPrice', 'discountPrice', 'commissionPrice', 'totalToPay']
  const payments = world.rows('rental_payments').filter(({ key }) => String(key.rental_id) === rental.id)
  return JSON.stringify([
    ...[names.map((name) => record[name] ?? null), departure.day, arrival.day, companyId, resourceId, boatId],
    ...[
      currencies,
      paid,
      takesPlace,
      payments.map(({ record: { id, price, currency, method } }) => [id, price, codeOf(currency), at(method, 'id')]),
    ],
  ])
}

function whatOf({ before, now }: Pair): string {
  if (before === undefined) return 'new'
  if (now === undefined) return 'gone'
  if (before.takesPlace === now.takesPlace) return 'changed'
  return now.takesPlace ? 'reinstated' : 'canceled'
}

/** By the titles of the questions: the world of the close, and that of now. */
export const months: Readonly<Record<string, (closed: ApiWorld, world: ApiWorld) => readonly Row[]>> = {
  'Totals of a close': (closed) =>
    byCurrencies(
      counts(closed),
      ({ companyId }) => [companyId],
      (group) => {
        const known = group.filter(({ paid }) => paid !== null)
        return [
          group.filter(({ takesPlace }) => takesPlace).length,
          sum(group, amountOf),
          sum(known, ({ paid }) => paid),
          sum(known, (rental) => amountOf(rental) - Number(rental.paid)),
        ]
      },
    ).map(([company, currency, ...sums]) => [company, currency, ...sums]),

  'What has changed since a close': (closed, world) => {
    const [olds, news] = [closed, world].map((each) => new Map(counts(each).map((rental) => [rental.id, rental])))
    const pairs = [...new Set([...(olds?.keys() ?? []), ...(news?.keys() ?? [])])].map(
      (id): Pair => ({
        before: olds?.get(id),
        now: news?.get(id),
      }),
    )
    const changed = pairs.filter(
      ({ before, now }) => before === undefined || now === undefined || keptOf(before, closed) !== keptOf(now, world),
    )
    const rows = changed.flatMap((pair) => {
      const { before, now } = pair
      const groups = new Map([before, now].flatMap((side) => (side ? [[side.currencies.join(), side] as const] : [])))
      const sideOf = (side: ApiRental | undefined, currencies: string) =>
        side?.currencies.join() === currencies ? { amount: amountOf(side), paid: side.paid } : { amount: 0, paid: 0 }
      return [...groups].map(([joined, { currency, currencies }]) => ({
        ...{ what: whatOf(pair), currency, currencies },
        ...{ former: sideOf(before, joined), now: sideOf(now, joined) },
      }))
    })
    return byCurrencies(
      rows,
      ({ what }) => [what],
      (group) => {
        const [paidNow, paidThen] = [
          sumKnown(group, ({ now }) => now.paid),
          sumKnown(group, ({ former }) => former.paid),
        ]
        return [
          group.length,
          sum(group, ({ now, former }) => now.amount - former.amount),
          paidNow === null || paidThen === null ? null : paidNow - paidThen,
        ]
      },
    )
  },

  // Everything is of the day of the test.
  'Receipts of the last week by method and VAT rate': (_, world) => {
    const rates = (rental: unknown): unknown[] =>
      ['rental_resources', 'rental_options']
        .flatMap((table) => world.rows(table).filter(({ key }) => String(key.rental_id) === rental))
        .flatMap(({ record }) => record.vatRate ?? [])
    return grouped(
      world
        .rows('rental_payments')
        .map(({ key, record }) => ({ record, rates: new Set(rates(String(key.rental_id))) })),
      ({ record, rates: all }) => [
        ...[world.today, codeOf(record.currency)],
        world.find('rental_payment_methods', at(record, 'method.id'))?.name,
        all.size === 1 ? [...all][0] : null,
      ],
      (group) => [sumKnown(group, ({ record }) => ((record.price ?? null) === null ? null : Number(record.price)))],
    )
  },
}
