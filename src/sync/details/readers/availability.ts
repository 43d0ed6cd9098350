// Availability for a day and a duration. The batch answers without naming the resources, so its order is trusted only
// after one batch was compared, element by element, with the singles (docs/sources.md,
// reference/retrieve-resource-availability-details/get-resources-availabilities).

import { type Json, stringifyJson } from '../../../api/wire/json.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import type { Row, Scope, TableWrite } from '../../../mirror/rows.ts'
import { contradictPin, getPin, setPin } from '../../../state/detected-settings.ts'
import type { SyncContext } from '../../context.ts'
import { projectInto, type Work } from '../../work.ts'
import { readOutcome } from '../single.ts'
import { parentValues } from './collection.ts'
import type { DetailRead } from './detail.ts'
import { readItems } from './items.ts'
import { slotDates } from './slots.ts'

const orderPin = 'availability_order'
const batchSize = 50

type Cell = { readonly resourceId: string; readonly date: string; readonly duration: string }
type Answered = { readonly body: Json; readonly startedAt: Date }

const cellKey = ({ resourceId, date, duration }: Cell): string => `${date}\n${duration}\n${resourceId}`

/** Answers of one portion of resources, filled by batches, asked singly where a batch cannot be trusted. */
export class AvailabilityBatches {
  readonly #context: SyncContext
  readonly #stream: StreamDef
  readonly #signal: AbortSignal
  readonly #answers = new Map<string, Answered>()

  constructor(context: SyncContext, stream: StreamDef, signal: AbortSignal) {
    this.#context = context
    this.#stream = stream
    this.#signal = signal
  }

  /** Reads all cells of these resources by batches, as far as the order of a batch is proven. */
  async prefetch(durationsOf: ReadonlyMap<string, readonly string[]>, work: Work): Promise<void> {
    for (const date of slotDates(this.#context))
      for (const [duration, ids] of groupByDuration(durationsOf))
        for (let start = 0; start < ids.length; start += batchSize)
          await this.#readBatch(ids.slice(start, start + batchSize), date, duration, work)
  }

  async #readBatch(ids: readonly string[], date: string, duration: string, work: Work): Promise<void> {
    const { pool } = this.#context.database
    const trusted = (await getPin(pool, orderPin))?.value === 'request'
    const body = await this.#batchBody(ids, date, duration, work)
    if (body === null) return
    const cells = ids.map((resourceId) => ({ resourceId, date, duration }))
    if (trusted) {
      // One element of each batch is asked for singly, so that a change of the order shows.
      const spot = Math.floor(Math.random() * ids.length)
      const single = await this.single(cells[spot] as Cell, work)
      if (single.kind === 'there' && stringifyJson(single.value.body) !== stringifyJson(body.items[spot] ?? null)) {
        await contradictPin(pool, orderPin, 'An element of a batch differs from its single.')
        return
      }
      for (const [index, cell] of cells.entries())
        this.#answers.set(cellKey(cell), { body: body.items[index] ?? null, startedAt: body.startedAt })
      return
    }
    const singles = await Promise.all(cells.map((cell) => this.single(cell, work)))
    for (const [index, single] of singles.entries())
      if (single.kind === 'there') this.#answers.set(cellKey(cells[index] as Cell), single.value)
    const texts = singles.map((single) => (single.kind === 'there' ? stringifyJson(single.value.body) : null))
    const matches = texts.every((text, index) => text !== null && text === stringifyJson(body.items[index] ?? null))
    // Equal answers everywhere prove nothing about the order.
    if (matches && new Set(texts).size > 1) await setPin(pool, orderPin, 'request')
  }

  async #batchBody(
    ids: readonly string[],
    date: string,
    duration: string,
    work: Work,
  ): Promise<{ items: readonly Json[]; startedAt: Date } | null> {
    if (this.#stream.reads.kind !== 'availability' || ids.some((id) => id.includes(','))) return null
    const outcome = await readItems(this.#context, work, {
      stream: this.#stream,
      endpoint: this.#stream.reads.batch,
      params: {},
      query: { resourceIds: ids.join(','), date, duration },
      signal: this.#signal,
    })
    if (outcome.kind === 'failed') work.problems.push(`${this.#stream.name}: ${outcome.reason}`)
    if (outcome.kind !== 'there') return null
    return outcome.value.items.length === ids.length ? outcome.value : null
  }

  /** Asks for one cell by the single endpoint. */
  single({ resourceId, date, duration }: Cell, work: Work): ReturnType<typeof readOutcome> {
    if (this.#stream.reads.kind !== 'availability') throw new Error(`${this.#stream.name} has no availability.`)
    const { single: endpoint } = this.#stream.reads
    return readOutcome(this.#context, work, {
      endpoint,
      params: { resourceId },
      query: { date, duration },
      signal: this.#signal,
    })
  }

  /** The answer of a batch for one cell, if there is a trusted one. */
  answer(cell: Cell): Answered | undefined {
    return this.#answers.get(cellKey(cell))
  }
}

/** Duration → ids of the resources that offer it among their first ones. */
function groupByDuration(durationsOf: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>()
  for (const [id, durations] of durationsOf)
    for (const duration of durations) groups.set(duration, [...(groups.get(duration) ?? []), id])
  return groups
}

/** The availability of one resource for the horizon: from the batches, singly where they left a gap. */
export async function readAvailability(
  context: SyncContext,
  stream: StreamDef,
  resourceId: string,
  durations: readonly string[],
  batches: AvailabilityBatches,
  work: Work,
): Promise<DetailRead> {
  if (stream.reads.kind !== 'availability') throw new Error(`${stream.name} has no availability.`)
  const { request, scope } = parentValues(stream, resourceId)
  const dates = slotDates(context)
  const rows: (Row & { readonly readAt: Date; readonly source: string })[] = []
  let startedAt = context.clock.now()
  let complete = true
  const source = stream.reads.single
  const received = (replace: readonly Scope[]): readonly TableWrite[] => [
    { stream, mode: 'record', source, readAt: startedAt, rows, replace },
  ]
  for (const date of dates)
    for (const duration of durations) {
      const cell = { resourceId, date, duration }
      const known = batches.answer(cell)
      const outcome = known === undefined ? await batches.single(cell, work) : { kind: 'there' as const, value: known }
      if (outcome.kind === 'gone' || outcome.kind === 'failed') return { outcome, writes: received([]) }
      if (outcome.kind === 'absent') continue
      const { body, startedAt: readAt } = outcome.value
      const answeredBy = known === undefined ? source : stream.reads.batch
      if (readAt < startedAt) startedAt = readAt
      work.counts.read += 1
      const projected = projectInto(
        work,
        stream,
        body,
        { ...request, date, duration },
        answeredBy,
        context.settings.timeZone,
      )
      if (projected.ok) rows.push({ ...projected.row, readAt, source: answeredBy })
      else complete = false
    }
  const range = { ...scope, from: { column: 'date', value: dates[0] ?? '', to: dates.at(-1) ?? '' } }
  return { outcome: { kind: 'there', value: { startedAt } }, writes: received(complete ? [range] : []) }
}
