// Partners during a storm: they queue stories in transactions of their own, again and again until the database took
// them, and know at the end what must be there.

import type pg from 'pg'
import type { LoggedRequest, Sandbox, TruthRow } from '../../../sandbox/index.ts'
import { createRandom } from '../../../sandbox/world/random.ts'
import { sleep } from '../../../src/clock.ts'
import { canProgress } from '../../../src/outbox/claim.ts'
import { matches } from '../../outbox/effects.ts'
import { freeSlots, Planner } from '../../outbox/plans.ts'
import { openStormPool } from './pool.ts'
import { type Cast, type Expectation, type Story, tellStory } from './stories.ts'

/** Rentals that stories are about, of those there are at the beginning. */
const rentalCount = 16
const optionCount = 4
const slotEveryMs = 5_000

type Told = { readonly story: Story; readonly ids: readonly string[] }

type Change = {
  readonly id: string
  readonly operation: string
  readonly status: string
  readonly error: string | null
  /** What the API said, or what differs, as text. */
  readonly response: string | null
}

export type PartnersOptions = {
  readonly databaseUrl: string
  readonly sandbox: Sandbox
  readonly seed: number
  /** Between two stories, on average. */
  readonly everyMs: number
}

function chooseCast(sandbox: Sandbox, taken: Set<string>): Cast {
  const planner = new Planner(sandbox)
  const options = Array.from({ length: optionCount }, () => planner.freeOption())
  const rentals = Array.from({ length: rentalCount }, () => planner.rental())
  let slots: readonly { readonly resourceId: string; readonly slotId: string }[] = []
  let lookedAt = 0
  return {
    rentals,
    options,
    slot: () => {
      if (Date.now() - lookedAt > slotEveryMs) {
        lookedAt = Date.now()
        slots = freeSlots(sandbox)
      }
      const slot = slots.find(({ slotId }) => !taken.has(slotId))
      if (slot !== undefined) taken.add(slot.slotId)
      return slot
    },
  }
}

const withResults = (value: unknown, ids: readonly string[]): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if ('change' in value && typeof value.change === 'number') return { change: Number(ids[value.change]) }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withResults(each, ids)]))
}

/** Queues a whole story or nothing. References make it the same changes when the answer of an earlier try was lost. */
async function enqueueStory(pool: pg.Pool, story: Story, reference: string): Promise<readonly string[]> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const ids: string[] = []
    for (const [place, { operation, target, body }] of story.steps.entries()) {
      const { rows } = await client.query<{ id: string }>('select outbox.enqueue($1, $2, $3, $4)::text as id', [
        operation,
        JSON.stringify(withResults(target, ids)),
        JSON.stringify(withResults(body, ids)),
        JSON.stringify({ reference: `${reference}-${place}` }),
      ])
      ids.push(String(rows[0]?.id))
    }
    await client.query('commit')
    client.release()
    return ids
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** A refusal of the outbox is a defect of this campaign; everything else passes with the fault. */
const isRefusal = (error: unknown): boolean => {
  const code = (error as { code?: string }).code ?? ''
  return /^(22|23|42|P0)/.test(code)
}

/** The changes that are on their way, with how far they are. */
async function openChanges(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ what: string }>(
    `select format('%s (%s) %s, attempt %s, look %s%s', id, operation, status, attempts, looks, ', ' || error) as what
     from outbox.queue where status in ('queued', 'sending') order by id limit 20`,
  )
  return rows.map(({ what }) => what).join('; ')
}

/** Starts to play stories. */
export function startPartners({ databaseUrl, sandbox, seed, everyMs }: PartnersOptions) {
  const random = createRandom(seed, 'partners').next
  const cast = chooseCast(sandbox, new Set())
  const pool = openStormPool(databaseUrl, 'partner', 2)
  const stopping = new AbortController()
  const told: Told[] = []
  const problems: string[] = []

  const tell = async (): Promise<void> => {
    for (let number = 1; !stopping.signal.aborted; number++) {
      const story = tellStory(number, cast, random)
      for (let taken = false; !taken; )
        try {
          told.push({ story, ids: await enqueueStory(pool, story, `story ${number}`) })
          taken = true
        } catch (error) {
          if (isRefusal(error)) {
            problems.push(`story ${number} (${story.name}) was refused: ${String(error)}`)
            break
          }
          await sleep(200)
        }
      await sleep(everyMs * (0.5 + random()), stopping.signal).catch(() => undefined) // stopped
    }
  }
  const telling = tell()

  const isQuiet = async (): Promise<boolean> => !(await canProgress(pool))
  return {
    /** Rentals of the beginning that nobody else may touch. */
    rentals: new Set([...cast.rentals, ...cast.options.map(({ rentalId }) => rentalId)].map(String)),
    /** Queues no more; resolves when the current story has ended. */
    stop: async () => {
      stopping.abort()
      await telling
    },
    /**
     * Waits until no change can move on without a decision. Returns null, or those that are open still when none of them moved
     * for `quietMs`, or after `longestMs`.
     */
    settled: async ({ quietMs, longestMs }: { readonly quietMs: number; readonly longestMs: number }) => {
      const end = Date.now() + longestMs
      let quietEnd = Date.now() + quietMs
      let before = ''
      for (;;) {
        const state = await openChanges(pool).catch(() => '')
        if (state !== before) quietEnd = Date.now() + quietMs
        before = state
        if (await isQuiet().catch(() => false)) return null
        if (Date.now() > Math.min(end, quietEnd)) return state
        await sleep(250)
      }
    },
    /** Reads the truth, and the writes that reached the API, oldest first. */
    judge: async (writes: readonly LoggedRequest[]) => {
      const { rows } = await pool.query<Change>(
        'select id::text, operation, status, error, coalesce(conflict, response)::text as response from outbox.queue order by id',
      )
      await pool.end()
      const changes = new Map(rows.map((row) => [row.id, row]))
      const statuses: Record<string, number> = {}
      for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1
      const truth = sandbox.truth({ only: streams })
      const violations = [...problems]
      const known = new Set(told.flatMap(({ ids }) => ids))
      for (const { id } of rows) if (!known.has(id)) violations.push(`change ${id} was queued by nobody`)
      for (const each of told) violations.push(...judgeStory(each, changes, truth))
      violations.push(...judgeOrder(told, changes, truth, writes))
      return { statuses, stories: told.length, violations }
    },
  }
}

const streams = [
  'rentals',
  'rental_options',
  'rental_payments',
  'rental_crew_members',
  'users',
  'user_identities',
  'user_licenses',
]

type Truth = Readonly<Record<string, readonly TruthRow[]>>

const countOf = (truth: Truth, { stream, shows }: Expectation): number =>
  (truth[stream] ?? []).filter(({ record }) => matches(shows, record)).length

/** A slot that another client took meanwhile, or that went with its boat or its day: the API refuses, and rightly so. */
const slotTaken = ({ operation, status, error, response }: Change): boolean =>
  operation === 'rental.create' && status === 'failed' && /409|slot|resourceId/i.test(`${error} ${response}`)

function judgeStory({ story, ids }: Told, changes: ReadonlyMap<string, Change>, truth: Truth): string[] {
  const steps = ids.map((id) => changes.get(id))
  const said = steps.map(
    (step) =>
      `${step?.id} ${step?.operation} ${step?.status}${step?.error ? ` (${step.error} ${step.response ?? ''})` : ''}`,
  )
  const where = `${story.name} [${said.join(', ')}]`
  const violations: string[] = []
  const isDone = steps.every((step) => step?.status === 'done')
  let excused = false
  for (const step of steps) {
    if (step === undefined) violations.push(`${where}: a change is lost`)
    else if (step.status === 'unknown' || slotTaken(step)) excused = true
    else if (step.status !== 'done' && !(excused && ['blocked', 'queued'].includes(step.status)))
      violations.push(`${where}: change ${step.id} is ${step.status}`)
  }
  // A refused rental is not there: or the slot was taken by an earlier attempt of the same change.
  const refused = steps.some((step) => step !== undefined && slotTaken(step))
  for (const expectation of story.leaves) {
    const count = countOf(truth, expectation)
    const most = refused && expectation.stream === 'rentals' ? 0 : 1
    const fine = isDone ? count === expectation.count : count <= most
    if (!fine) violations.push(`${where}: ${count} of ${expectation.stream} show ${JSON.stringify(expectation.shows)}`)
  }
  return violations
}

/** Links of a rental were written in the order in which they were queued, and the last one stands. */
function judgeOrder(
  told: readonly Told[],
  changes: ReadonlyMap<string, Change>,
  truth: Truth,
  writes: readonly LoggedRequest[],
): string[] {
  const violations: string[] = []
  const links = told.flatMap(({ story, ids }) =>
    story.link === undefined ? [] : [{ ...story.link, id: ids[0] ?? '' }],
  )
  for (const rentalId of new Set(links.map((link) => link.rentalId))) {
    const done = links.filter((link) => link.rentalId === rentalId && changes.get(link.id)?.status === 'done')
    const wanted = done.at(-1)
    const shown = truth.rentals?.find(({ key }) => key.id === rentalId)?.record.orderLink
    const undecided = links.some((link) => link.rentalId === rentalId && changes.get(link.id)?.status === 'unknown')
    if (wanted !== undefined && shown !== wanted.orderLink && !undecided)
      violations.push(
        `rental ${rentalId} ends with the link ${String(shown)}, and change ${wanted.id} set ${wanted.orderLink} last`,
      )
    const written = writes
      .filter(({ method, path }) => method === 'PUT' && path === `/v3/rentals/${rentalId}`)
      .map(({ body }) => (JSON.parse(String(body)) as { orderLink?: string | null }).orderLink ?? '')
      .filter((link) => link.startsWith('https://example.com/s'))
    const place = written.findIndex((link, index) => index > 0 && link < String(written[index - 1]))
    if (place > 0)
      violations.push(`rental ${rentalId} was written out of order: ${written[place - 1]} before ${written[place]}`)
  }
  return violations
}
