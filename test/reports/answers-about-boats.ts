// The answers of docs/queries.md about boats and days on the quay, worked out from the API's records.

import { type Answer, departing, grouped, type Row, round, sum, taking } from './answer-parts.ts'
import {
  type ApiRecord,
  type ApiRental,
  type ApiWorld,
  addDays,
  at,
  codeOf,
  daysBetween,
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
        if (next === undefined || next.ms <= arrival.ms) return []
        return [[resourceName, arrivalHarbour, arrival.clock, next.clock, interval(next.ms - arrival.ms)]]
      })
    }),

  'Departures by day of the week': (world) =>
    grouped(
      taking(world),
      ({ departure }) => [weekdayOf(departure.day)],
      (group) => [group.length, round(sum(group, nights) / group.length + 1, 1)],
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

  'Which boats are booked twice at the same time?': (world) => {
    const soon = (span: Span) => span.to > Date.now()
    const fleets = new Set(
      world
        .rows('resource_slots')
        .filter(({ record }) => Number(record.nbResourcesAvailable) > 1)
        .map(({ key }) => at(world.find('resources', key.resource_id), 'boatId')),
    )
    const rentals = taking(world)
      .map((rental) => ({ ...rental, from: rental.departure.ms, to: rental.arrival.ms }))
      .filter(({ from, to, boatId }) => from < to && !fleets.has(boatId))
    const blocks = world
      .rows('resource_unavailabilities')
      .filter(({ record }) => record.reason !== 'RENTAL')
      .map(({ key, record }) => ({
        resourceId: key.resource_id,
        from: Date.parse(String(record.startDatetime)),
        to: Date.parse(String(record.endDatetime)),
      }))
    return rentals.flatMap((rental) => {
      const others = rentals.filter(({ id, boatId }) => id > rental.id && boatId === rental.boatId)
      const own = blocks.filter(({ resourceId }) => resourceId === rental.resourceId)
      const row = (other: Span, kind: string, id: number | null): Row[] => {
        const both = { from: Math.max(rental.from, other.from), to: Math.min(rental.to, other.to) }
        if (both.from >= both.to || !soon(both)) return []
        return [[rental.resourceName, rental.id, kind, id, round((both.to - both.from) / 3_600_000, 1)]]
      }
      return [
        ...others.flatMap((other) => row(other, 'rental', other.id)),
        ...own.flatMap((block) => row(block, 'unavailability', null)),
      ]
    })
  },
}

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
