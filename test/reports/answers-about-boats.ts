// The answers of docs/queries.md about boats and days on the quay, worked out from the API's records.

import { type Answer, departing, grouped, round, sum, taking } from './answer-parts.ts'
import {
  type ApiRecord,
  type ApiRental,
  type ApiWorld,
  addDays,
  at,
  codeOf,
  daysBetween,
  endOf,
  groupBy,
  monthsFrom,
} from './api-world.ts'

const rentable = (world: ApiWorld): ApiRecord[] => world.records('resources').filter((boat) => boat.isRentable === true)
const companyName = (boat: ApiRecord): unknown => at(boat, 'company.companyBrandName')
const kindOf = (boat: ApiRecord): unknown => at(boat, 'version.subtype.name')

/** By the titles of the questions. */
export const boats: Readonly<Record<string, Answer>> = {
  'Boats by harbour': (world) =>
    grouped(
      rentable(world),
      (boat) => [
        at(boat, 'harbour.city.administrativeAreaLevel2.administrativeAreaLevel1.country.code'),
        at(boat, 'harbour.name'),
        codeOf(world.prices(boat.id)[0]?.currency),
      ],
      (group) => [
        group.length,
        [...new Set(group.map(kindOf))].join(', '),
        Math.min(...group.map(({ minPrice }) => Number(minPrice))),
      ],
    ).map(([country, harbour, currency, ...rest]) => [country, harbour, ...rest, currency]),

  'Boats free on a given weekend': (world) => {
    const weekday = new Date(`${world.today}T00:00:00Z`).getUTCDay()
    const saturday = addDays(world.today, 6 - weekday)
    return rentable(world)
      .filter(({ id }) => [saturday, addDays(saturday, 1)].every((day) => world.isFull(id, day) === false))
      .map((boat) => [at(boat, 'harbour.name'), boat.id, boat.name])
  },

  'Occupancy of each company in the coming months': (world) =>
    monthsFrom(world.today, 3).flatMap((month) =>
      grouped(
        [...groupBy(world.records('resources'), ({ boatId }) => String(boatId)).values()],
        ([boat]) => [companyName(boat ?? {}), month, at(boat, 'company.id')],
        (boats) => {
          const days = Array.from({ length: daysBetween(month, monthsFrom(month, 2)[1] ?? month) }, (_, n) =>
            addDays(month, n),
          )
          const known = boats.flatMap((offers) =>
            days.flatMap((day) => {
              const full = offers.map(({ id }) => world.isFull(id, day)).filter((each) => each !== undefined)
              return full.length === 0 ? [] : [full.includes(true)]
            }),
          )
          const full = known.filter((each) => each).length
          return [full, known.length, round((100 * full) / known.length, 1)]
        },
      )
        .filter(([, , , , days]) => days !== 0)
        .map(([name, first, , ...rest]) => [name, first, ...rest]),
    ),

  'Boats with the fewest full days in the coming months': (world) =>
    grouped(
      rentable(world),
      ({ boatId }) => [boatId],
      (offers) => [
        offers.map(({ name }) => String(name)).sort()[0],
        [...new Set(offers.map((boat) => at(boat, 'harbour.name')))].join(', '),
        sum(offers, ({ id }) => world.occupancy(id, monthsFrom(world.today, 4)).full),
      ],
    ),

  'Boats offered in several harbours, with the full days of each offer': (world) => {
    const months = monthsFrom(`${world.year}-01-01`, 12)
    const offers = groupBy(world.records('resources'), ({ boatId }) => String(boatId))
    return [...offers.values()]
      .filter((same) => same.length > 1)
      .flat()
      .map((boat) => [boat.boatId, boat.name, boat.id, at(boat, 'harbour.name'), world.occupancy(boat.id, months).full])
  },

  'Price of one day by kind of boat, for the next four weeks': (world) =>
    grouped(
      rentable(world).flatMap((boat) =>
        world
          .prices(boat.id)
          .filter(({ duration, date }) => duration === 'DAYS,1' && String(date) <= addDays(world.today, 27))
          .map((price) => ({ boat, price: Number(price.base_price), currency: codeOf(price.currency) })),
      ),
      ({ boat, currency }) => [kindOf(boat), currency],
      (group) => {
        const prices = group.map(({ price }) => price)
        const average = round(sum(prices, Number) / prices.length, 2)
        return [new Set(group.map(({ boat }) => boat.boatId)).size, Math.min(...prices), average, Math.max(...prices)]
      },
    ),
}

/** By the titles of the questions. */
export const quay: Readonly<Record<string, Answer>> = {
  'Departures in the next two weeks': (world) =>
    departing(world, addDays(world.today, 14)).map(
      ({ departure, departureHarbour, resourceName, record, ...rental }) => [
        departure.clock,
        departureHarbour,
        resourceName,
        record.crewAdults,
        record.crewChildren,
        rental.balance,
        rental.currency,
      ],
    ),

  'Returns in the next two weeks, with their deposits': (world) =>
    taking(world)
      .filter(({ arrival }) => arrival.day >= world.today && arrival.day <= addDays(world.today, 14))
      .map(({ arrival, arrivalHarbour, resourceName, id, record }) => [
        arrival.clock,
        arrivalHarbour,
        resourceName,
        id,
        record.depositStatus,
        record.depositPrice,
        codeOf(record.depositCurrency),
      ]),

  'Shortest turnarounds between two rentals of a boat': (world) =>
    [...groupBy(taking(world), ({ boatId }) => String(boatId)).values()].flatMap((rentals) => {
      const inOrder = rentals.toSorted((a, b) => a.departure.ms - b.departure.ms)
      return inOrder.flatMap(({ resourceName, arrivalHarbour, arrival }, index) => {
        const next = inOrder[index + 1]?.departure
        if (next === undefined || !(next.ms > arrival.ms)) return []
        return [[resourceName, arrivalHarbour, arrival.clock, next.clock, interval(next.ms - arrival.ms)]]
      })
    }),

  'Departures by day of the week': (world) =>
    grouped(
      taking(world),
      ({ departure }) => [weekdayOf(departure.day)],
      (group) => {
        const ended = group.filter(({ arrival }) => arrival.day !== '')
        return [group.length, ended.length === 0 ? null : round(sum(ended, nights) / ended.length + 1, 1)]
      },
    ),

  'Coming departures with an incomplete crew list': (world) =>
    departing(world)
      .map((rental) => ({ rental, persons: Number(rental.record.crewAdults) + Number(rental.record.crewChildren) }))
      .filter(({ rental, persons }) => rental.crewListed < persons)
      .map(({ rental: { id, departure, resourceName, crewListed }, persons }) => [
        id,
        departure.clock,
        resourceName,
        persons,
        crewListed,
      ]),

  'Extras to put on board, by departure': (world) =>
    departing(world)
      .filter(({ options }) => options.length > 0)
      .map(({ departure, resourceName, id, options }) => [
        departure.clock,
        resourceName,
        id,
        options.map((option) => `${option.quantity} ${at(option, 'option.name')}`).join(', '),
      ]),

  'Contact details of the customer, by departure': (world) =>
    departing(world).map(({ departure, resourceName, record }) => {
      const user = world.find('users', at(record, 'user.id'))
      const { firstName, lastName, mobilePhone } = user ?? {}
      return [departure.clock, resourceName, firstName, lastName, mobilePhone, at(user, 'language.code')]
    }),

  'Which boats are booked twice at the same time?': (world) =>
    doubleBookings(world)
      .filter(({ to }) => to > Date.now())
      .map(({ rental, kind, other, from, to }) => [
        rental.resourceName,
        rental.id,
        kind,
        other,
        round((to - from) / 3_600_000, 1),
      ]),
}

type DoubleBooking = Span & { readonly rental: ApiRental; readonly kind: string; readonly other: string | null }

/** What takes a boat together with a rental. The API shows each rental as an unavailability with the same ends. */
export function doubleBookings(world: ApiWorld): readonly DoubleBooking[] {
  const { fleets } = world
  const of = (rentals: readonly ApiRental[]) => {
    const single = rentals.filter(({ boatId, departure }) => !fleets.has(boatId) && !Number.isNaN(departure.ms))
    // One without an arrival takes the moment of its departure.
    return single.map((rental) => {
      const { departure, arrival } = rental
      return { rental, from: departure.ms, to: arrival.ms >= departure.ms ? arrival.ms : departure.ms + 0.001 }
    })
  }
  const held = of(world.rentals.filter(({ canceled }) => !canceled))
  const seen = new Map<string, number>()
  const blocks = world.rows('resource_unavailabilities').flatMap(({ key, record }) => {
    const block = { resourceId: key.resource_id, from: endOf(record, 'start'), to: endOf(record, 'end') }
    if (!(block.from < block.to)) return []
    const place = JSON.stringify(block)
    seen.set(place, (seen.get(place) ?? 0) + 1)
    const boatId = at(world.find('resources', key.resource_id), 'boatId')
    const own = held.filter(
      ({ rental, from, to }) => rental.boatId === boatId && from === block.from && to === block.to,
    )
    return (seen.get(place) ?? 0) <= own.length ? [] : [block]
  })
  const taking = of(world.rentals.filter(({ takesPlace }) => takesPlace))
  return taking.flatMap((one) => {
    const { rental } = one
    const both = (other: Span, kind: string, id: string | null): DoubleBooking[] => {
      const [from, to] = [Math.max(one.from, other.from), Math.min(one.to, other.to)]
      return from < to ? [{ rental, kind, other: id, from, to }] : []
    }
    const others = taking.filter((each) => each.rental.boatId === rental.boatId && isLater(each.rental, rental))
    const own = blocks.filter(({ resourceId }) => resourceId === rental.resourceId)
    return [
      ...others.flatMap((other) => both(other, 'rental', other.rental.id)),
      ...own.flatMap((block) => both(block, 'unavailability', null)),
    ]
  })
}

/** Ids may have more digits than a JavaScript number. */
const isLater = (one: ApiRental, other: ApiRental): boolean => BigInt(one.id) > BigInt(other.id)

const nights = ({ departure, arrival }: ApiRental): number => daysBetween(departure.day, arrival.day)

/** As Postgres writes the weekday with the pattern `ID Dy`. */
function weekdayOf(day: string): string {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay()
  return `${weekday === 0 ? 7 : weekday} ${['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][weekday]}`
}

/** As Postgres writes the difference of two instants. */
function interval(ms: number): string {
  const days = Math.floor(ms / 86_400_000)
  const clock = new Date(ms % 86_400_000)
    .toISOString()
    .slice(11, 23)
    .replace(/\.(\d*?)0*$/, (_, digits: string) => (digits === '' ? '' : `.${digits}`))
  return [days === 0 ? '' : `${days} day${days === 1 ? '' : 's'}`, clock === '00:00:00' ? '' : clock]
    .filter((part) => part !== '')
    .join(' ')
}

/** A stretch of time, in milliseconds since 1970. */
type Span = { readonly from: number; readonly to: number }
