// Rental companies of an API that shows its rentals as unavailabilities, or does not, and the double bookings put among them.
// Times are hours since 2030-06-03T00:00 in the company's own zone, which is the wall clock of all its boats.

import fc from 'fast-check'

export type Span = { readonly from: number; readonly to: number }
export type Booked = Span & { readonly id: number; readonly resource: string; readonly status: string }
export type Block = Span & { readonly key: string; readonly resource: string; readonly planted: boolean }

const day = 24
const dayOf = (hour: number): number => Math.floor(hour / day) * day
const nextDay = (hour: number): number => Math.ceil(hour / day) * day

type Form = {
  /** The block of one rental; null: rentals are not shown. */
  readonly block: ((span: Span) => Span) | null
  /** Blocks that touch are one. */
  readonly joined?: true
  /** How far the days of the API are behind those of the company. */
  readonly behind?: number
}

const plus = (before: number, after: number) => (span: Span) => ({ from: span.from - before, to: span.to + after })
const days = ({ from, to }: Span): Span => ({ from: dayOf(from), to: nextDay(to) })
const after =
  (first: (span: Span) => Span, second: (span: Span) => Span) =>
  (span: Span): Span =>
    second(first(span))

/** Each form in which rentals are shown. */
export const forms: Readonly<Record<string, Form>> = {
  none: { block: null },
  exact: { block: plus(0, 0) },
  'exact, joined': { block: plus(0, 0), joined: true },
  'two hours of cleaning': { block: plus(0, 2) },
  'an hour before, three after': { block: plus(1, 3) },
  'two hours of cleaning, joined': { block: plus(0, 2), joined: true },
  'a day of cleaning': { block: plus(0, 24) },
  'whole days': { block: days },
  'whole days, joined': { block: days, joined: true },
  'whole days to one minute before midnight': { block: after(days, plus(0, -1 / 60)) },
  'whole days of UTC': { block: days, behind: 2 },
  'whole days, then two hours of cleaning': { block: after(days, plus(0, 2)) },
  'two hours of cleaning, then whole days': { block: after(plus(0, 2), days) },
}

/** The blocks of an API for the rentals of one resource. */
function shown({ block, joined, behind = 0 }: Form, rentals: readonly Span[]): readonly Span[] {
  if (block === null) return []
  const each = rentals
    .map(({ from, to }) => block({ from: from - behind, to: to - behind }))
    .map(({ from, to }) => ({ from: from + behind, to: to + behind }))
    .sort((a, b) => a.from - b.from)
  if (joined === undefined) return each
  const all: Span[] = []
  for (const next of each) {
    const last = all.at(-1)
    if (last === undefined || next.from > last.to) all.push(next)
    else all[all.length - 1] = { from: last.from, to: Math.max(last.to, next.to) }
  }
  return all
}

const overlap = (a: Span, b: Span): boolean => a.from < b.to && b.from < a.to

/** One stay: how long after the one before it the boat leaves, and for how long. */
const stays = fc.record({
  gap: fc.constantFrom(0, 0, 1, 5, 20, 24, 40, 100),
  at: fc.constantFrom(8, 9, 10, 10, 14, 18),
  long: fc.constantFrom(4, 8, 10, 24, 31, 56, 168, 164),
  backToBack: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
  status: fc.constantFrom('VALIDATED', 'VALIDATED', 'VALIDATED', 'PENDING', 'SOMETHING_NEW', 'CANCELED_BY_CLIENT'),
})

export const plants = [
  "an owner's fortnight over a week",
  'a block that is an hour longer',
  'a block that begins a day earlier',
  "an owner's afternoon within a rental",
  'the same block again',
  'a second rental',
] as const

/** Boats with their stays, and what is planted on some of them. */
export const companies = fc.record({
  boats: fc.array(fc.array(stays, { minLength: 3, maxLength: 7 }), { minLength: 4, maxLength: 7 }),
  planted: fc.array(fc.record({ boat: fc.nat(), stay: fc.nat(), what: fc.constantFrom(...plants) }), { maxLength: 3 }),
})
type Company = typeof companies extends fc.Arbitrary<infer T> ? T : never

export type Bookings = {
  readonly rentals: readonly Booked[]
  readonly blocks: readonly Block[]
  /** `rental kind other`, one for each double booking. */
  readonly lines: readonly string[]
  /** What was planted, each with at least one line. */
  readonly hit: ReadonlySet<(typeof plants)[number]>
}

/** What a company has in an API that shows its rentals in this form. `number`: makes ids unique. */
export function bookingsOf(company: Company, form: Form, number: number): Bookings {
  const rentals: Booked[] = []
  const blocks: Block[] = []
  let id = number * 10_000
  for (const [boat, all] of company.boats.entries()) {
    const resource = `${number}-${boat}`
    let end = 0
    for (const { gap, at, long, backToBack, status } of all) {
      const from = backToBack ? end : dayOf(end + gap + day) + at
      id += 1
      rentals.push({ id, resource, status, from, to: from + long })
      if (status !== 'CANCELED_BY_CLIENT') end = from + long
    }
  }
  const own = rentals.filter(({ status }) => !status.startsWith('CANCELED'))
  const stays = own.filter(({ status }) => status !== 'PENDING')
  const planted: Block[] = []
  const hit = new Set<(typeof plants)[number]>()
  for (const [index, { boat, stay, what }] of company.planted.entries()) {
    const at = stays.filter(({ resource }) => resource === `${number}-${boat % company.boats.length}`)
    const booked = at[stay % Math.max(1, at.length)]
    if (booked === undefined) continue
    hit.add(what)
    const [whole] = shown({ ...form, block: form.block ?? days }, [booked]) as [Span]
    const put = (span: Span) => planted.push({ ...span, key: `p${index}`, resource: booked.resource, planted: true })
    if (what === 'a second rental') {
      id += 1
      const second = { ...booked, id, from: booked.from + 1, to: booked.to + 3 }
      rentals.push(second)
      own.push(second)
    } else if (what === "an owner's fortnight over a week")
      put({ from: dayOf(booked.from) - 72, to: dayOf(booked.from) + 264 })
    else if (what === 'a block that is an hour longer') put({ from: whole.from, to: whole.to + 1 })
    else if (what === 'a block that begins a day earlier') put({ from: whole.from - 24, to: whole.to })
    else if (what === "an owner's afternoon within a rental") put({ from: booked.from + 1, to: booked.to - 1 })
    else put(whole)
  }
  for (const resource of new Set(own.map((each) => each.resource)))
    blocks.push(
      ...shown(
        form,
        own.filter((each) => each.resource === resource),
      ).map((span, index) => ({
        ...{ ...span, key: `b${index}`, resource, planted: false },
      })),
    )
  blocks.push(...planted)
  const taking = rentals.filter(({ status }) => !/^(PENDING|CANCELED)/.test(status))
  const lines = taking.flatMap((a) => [
    ...taking
      .filter((z) => z.id > a.id && z.resource === a.resource && overlap(a, z))
      .map((z) => `${a.id} rental ${z.id}`),
    ...planted.filter((z) => z.resource === a.resource && overlap(a, z)).map((z) => `${a.id} unavailability ${z.key}`),
  ])
  return { rentals, blocks, lines: lines.sort(), hit }
}
