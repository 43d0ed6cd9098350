// Runs of the outbox against an API that rewrites, shows late and loses answers, while others make records like ours. What a
// run may have done at the end is said here: each change made exactly what it says it made, and nothing was made twice.

import { createRandom, type Random } from '../../sandbox/world/random.ts'
import type { Loss, Rewriting } from './rewriting-api.ts'
import { type Ended, type RewritingRig, slotAt } from './rewriting-rig.ts'

type Members = Record<string, unknown>
type Kind = 'user' | 'rental' | 'payment' | 'option' | 'crew'

const operations = {
  user: 'user.create',
  rental: 'rental.create',
  payment: 'rental_payment.add',
  option: 'rental_option.add',
  crew: 'rental_crew_member.add',
} as const satisfies Record<Kind, string>

const collections = { payment: 'payments', option: 'options', crew: 'crewMembers' } as const

/** One run: a user, a boat or a rental of its own, what is asked of it, and what happens meanwhile. */
type Run = {
  readonly name: string
  readonly kind: Kind
  /** Where its records come to stand. */
  readonly place: string
  readonly target: Members
  readonly bodies: readonly Members[]
  /** A payment of the rental that its first change makes. */
  readonly payment: Members | null
  /** What happens to its writes, in turn; none after the last. */
  readonly losses: (Loss | null)[]
  /** What others make at the moment of each of its writes. */
  readonly foreign: readonly Members[]
}

export type Result = {
  readonly runs: number
  readonly statuses: Readonly<Record<string, number>>
  /** The same of changes of which an answer was lost. */
  readonly afterLoss: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

const losses = [
  'lost before',
  'lost after',
  'lost after',
  'gateway',
  'server error',
  'error after',
  'answer without content',
] as const

const rewritingOf = (random: Random): Rewriting => ({
  ...(random.chance(0.7) && { emails: 'lower case' }),
  ...(random.chance(0.7) && { texts: 'trimmed' }),
  ...(random.chance(0.4) && { names: 'capitals' }),
  ...(random.chance(0.7) && { prices: random.pick(['rounded', 'cut'] as const) }),
  ...(random.chance(0.6) && { references: 'cut' }),
  ...(random.chance(0.7) && { currency: 'capitals' }),
  ...(random.chance(0.7) && { dateTimes: random.pick(['without offset', 'short offset'] as const) }),
})

const departures = ['2026-07-14T07:00:00.000Z', '2026-07-14T12:00:00.000Z', '2026-07-21T07:00:00.000Z'] as const
const boatOf = (name: string): string => `boat-${name}`
/** The slots that a run may ask for or others may take. */
const slotsOf = (name: string) => departures.map((departure) => slotAt(boatOf(name), departure))

/** What is asked for, spelt in ways that an API may rewrite. */
function bodyFor(kind: Kind, name: string, random: Random): Members {
  const reference = random.pick([`Ref ${name}`, `booking-2026-07-14-${name}-deposit`, ` ${name}  of  July `])
  switch (kind) {
    case 'user':
      return {
        email: random.pick([`Ann.${name}@Example.com`, `ann.${name}@example.com`]),
        firstName: random.pick(['Ann', ' Ann  Marie ', 'Zoé']),
        lastName: random.pick([`Le Goff ${name}`, ` Lee  ${name}`, `Straße ${name}`]),
        birthDate: '1990-05-01',
      }
    case 'rental':
      return { ...random.pick(slotsOf(name)), ...(random.chance(0.5) && { referenceId: reference }) }
    case 'payment':
      return {
        currency: random.pick(['eur', 'EUR']),
        method: { id: random.int(1, 2) },
        price: random.pick([50, 12.345, 99.999, 0.1]),
        ...(random.chance(0.7) && { reference }),
      }
    case 'option':
      return { optionId: random.int(1, 3), quantity: random.int(1, 3) }
    case 'crew':
      return {
        firstName: random.pick(['Yann', ' Zoé ', 'Ann']),
        lastName: `Le  Goff ${name}`,
        type: 'ADULT',
        ...(random.chance(0.5) && { email: `Y.${name}@Example.com` }),
      }
    default:
      return kind satisfies never
  }
}

/** What others make: like ours, but another in something that is not only spelling. */
function foreignTo(kind: Kind, body: Members, random: Random): Members {
  const changed: Readonly<Record<Kind, readonly Members[]>> = {
    user: [{ email: 'bo@example.com' }, { firstName: 'Bo' }, { lastName: 'Fry', email: 'fry@example.com' }],
    rental: [
      { referenceId: 'web-1' },
      { referenceId: null },
      { ...slotAt(String(body.resourceId), '2026-07-15T07:00:00.000Z') },
    ],
    payment: [
      { price: 500, method: { id: 3 } },
      { price: 500 },
      { reference: 'till 7' },
      { method: { id: 3 }, currency: 'GBP' },
    ],
    option: [{ optionId: 9 }, { quantity: 7 }],
    crew: [{ firstName: 'Bo', lastName: 'Fry' }, { firstName: 'Bo' }, { lastName: 'Fry' }],
  }
  return { ...body, ...random.pick(changed[kind]) }
}

function runOf(name: string, rig: RewritingRig, random: Random): Run {
  const kind = random.pick<Kind>(['user', 'rental', 'payment', 'payment', 'option', 'crew'])
  const first = bodyFor(kind, name, random)
  const second = random.chance(0.4) ? first : bodyFor(kind, name, random)
  const bodies = random.chance(0.4) ? [first, second] : [first]
  const loss = (): Loss | null => (random.chance(0.6) ? random.pick(losses) : null)
  const foreign = random.chance(0.4) ? [foreignTo(kind, first, random)] : []
  const payment =
    kind === 'rental' && random.chance(0.5) ? { ...bodyFor('payment', name, random), reference: `pays ${name}` } : null
  const rest = { name, kind, bodies, payment, losses: [loss(), loss(), loss()], foreign }
  if (kind === 'user' || kind === 'rental') return { ...rest, place: `${kind}s`, target: {} }
  const rentalId = rig.api.insert('rentals', slotAt(boatOf(name), '2026-08-01T07:00:00.000Z'))
  return { ...rest, place: `rentals/${rentalId}/${collections[kind]}`, target: { rentalId } }
}

/** A text that is the same for equal bodies, whatever the order of their members and the spelling of their numbers. */
const canonical = (body: unknown): string =>
  JSON.stringify(body, (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )

/** What a change sent, and to which place. */
const sentBy = ({ request }: Ended): string =>
  `${request?.path.replace('/v3/', '')} ${canonical(request?.body ?? null)}`

/**
 * What a run did wrong. Changes that sent the same to the same place are judged together: as many records were made of
 * that as changes are done, besides at most one for each that is unknown, and each is the result of one change at most.
 */
function violationsOf(rig: RewritingRig, run: Run, changes: readonly Ended[]): readonly string[] {
  return [...new Set(changes.map(sentBy))].flatMap((sent) => {
    const own = changes.filter((change) => sentBy(change) === sent)
    const [place = ''] = sent.split(' ', 1)
    const ids = rig.api
      .at(place)
      .filter(({ madeBy }) => madeBy !== null && `${place} ${canonical(JSON.parse(madeBy))}` === sent)
      .map(({ id }) => String(id))
    const done = own.filter(({ status }) => status === 'done').map((change) => change.made)
    const unknown = own.filter(({ status }) => status === 'unknown').length
    // What is unknown holds the later changes of the same record, and what has failed those that need it.
    const stops = { queued: 'unknown', blocked: 'failed' } as const
    const isHeld = ({ id, status }: Ended): boolean =>
      Object.entries(stops).some(
        ([held, by]) =>
          status === held && changes.some((other) => other.status === by && Number(other.id) < Number(id)),
      )
    const open = own.filter((change) => !['done', 'unknown', 'failed'].includes(change.status) && !isHeld(change))
    const what = `run ${run.name} (${run.kind}): ${own.map(({ status }) => status).join(', ')}, ${ids.length} made`
    return [
      ...(ids.length > done.length + unknown ? [`${what}: a second effect`] : []),
      ...(ids.length < done.length ? [`${what}: done without effect`] : []),
      ...(done.some((id) => id === null || !ids.includes(id)) ? [`${what}: done about another's record`] : []),
      ...(new Set(done).size < done.length ? [`${what}: two changes with one record`] : []),
      ...(open.length > 0 ? [`${what}: did not end`] : []),
    ]
  })
}

function count(statuses: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1)
  return Object.fromEntries(counts)
}

export const sum = (results: readonly Result[]): Result => {
  const added = (of: (result: Result) => Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
    count(
      results.flatMap((result) => Object.entries(of(result)).flatMap(([status, n]) => Array<string>(n).fill(status))),
    )
  return {
    runs: results.reduce((total, { runs }) => total + runs, 0),
    statuses: added(({ statuses }) => statuses),
    afterLoss: added(({ afterLoss }) => afterLoss),
    violations: results.flatMap(({ violations }) => violations),
  }
}

/** Of one length, so that none is part of another. */
const nameOf = (seed: number, index: number): string =>
  `${String(seed).padStart(6, '0')}-${String(index).padStart(3, '0')}`

/** Some runs at once, each about records of its own, under one drawn behaviour of the API. */
export async function runBatch(rig: RewritingRig, seed: number, size: number): Promise<Result> {
  const random = createRandom(seed, 'rewriting')
  const { api } = rig
  await rig.clear()
  api.rewriting = rewritingOf(random)
  api.exactFilters = random.chance(0.5)
  api.exclusive = random.chance(0.5)
  api.refusal = random.pick([409, 409, 422])
  api.lag = 0
  const runs = Array.from({ length: size }, (_, index) => runOf(nameOf(seed, index), rig, random))
  api.lag = random.int(0, 1)
  await rig.mirrorSlots(runs.filter(({ kind }) => kind === 'rental').flatMap(({ name }) => slotsOf(name)))

  const lost = new Set<string>()
  const writes = new Map<Run, number>()
  api.disturb = (place, body) => {
    const run = runs.find(({ name, place: own }) =>
      own.includes('/') ? own === place : canonical(body).includes(name),
    )
    if (run === undefined) return null
    const turn = writes.get(run) ?? 0
    writes.set(run, turn + 1)
    const others = run.foreign[turn]
    if (others !== undefined && place === run.place) api.insert(place, others)
    const loss = run.losses[turn] ?? null
    if (loss !== null) lost.add(`${place} ${canonical(body)}`)
    return loss
  }
  const asked: { readonly run: Run; readonly id: string }[] = []
  for (const run of runs) {
    for (const body of run.bodies) asked.push({ run, id: await rig.queue(operations[run.kind], run.target, body) })
    if (run.payment === null) continue
    const rentalId = { change: Number(asked.at(-run.bodies.length)?.id) }
    asked.push({ run, id: await rig.queue(operations.payment, { rentalId }, run.payment) })
  }
  await rig.push(() => random.chance(0.5))

  const ended = new Map((await rig.ended()).map((change) => [change.id, change]))
  const changesOf = (run: Run): readonly Ended[] =>
    asked.filter((each) => each.run === run).flatMap(({ id }) => ended.get(id) ?? [])
  const all = runs.flatMap(changesOf)
  const afterLoss = all.filter((change) => lost.has(sentBy(change)))
  return {
    runs: size,
    statuses: count(all.map(({ status }) => status)),
    afterLoss: count(afterLoss.map(({ status }) => status)),
    violations: runs.flatMap((run) => violationsOf(rig, run, changesOf(run)).map((each) => `seed ${seed}: ${each}`)),
  }
}
