// Availability for a day and a duration. The batch answers without naming the resources, so its order is trusted only
// after one batch was compared, element by element, with the singles (docs/sources.md,
// reference/retrieve-resource-availability-details/get-resources-availabilities).

import { type Json, stringifyJson } from '../../../api/wire/json.ts'
import type { Scope, SourcedRow, TableWrite } from '../../../mirror/rows.ts'
import { entries, type Profile, readProfile } from '../../../profile/profile.ts'
import { changeSet, type Found, projected } from '../../change-set.ts'
import type { Reading } from '../../context.ts'
import { keyBatches } from '../../plan.ts'
import { type Answered, type ReadValue, readOutcome } from '../single.ts'
import { type DetailRead, detailRead, notRead, parentValues, readItems } from './children.ts'
import { slotDates } from './slots.ts'

/** Resources asked for at once. */
export const batchSize = 50

type Cell = { readonly resourceId: string; readonly date: string; readonly duration: string }
type Batch = Omit<Cell, 'resourceId'> & { readonly ids: readonly string[]; readonly isChecked: boolean }
type Answer = { readonly body: Json; readonly startedAt: Date }

const cellKey = ({ resourceId, date, duration }: Cell): string => `${date}\n${duration}\n${resourceId}`

/** Answers for several resources, filled by batches, asked singly where a batch cannot be trusted. */
export class AvailabilityBatches {
  readonly #reading: Reading<'availability'>
  readonly #answers = new Map<string, Answer>()

  constructor(reading: Reading<'availability'>) {
    this.#reading = reading
  }

  /** Reads all cells of these resources by batches, as far as the order of a batch is proven. */
  async prefetch(durationsOf: ReadonlyMap<string, readonly string[]>): Promise<Found> {
    const found: Found[] = []
    const profile = await readProfile(this.#reading.context.database.pool)
    const batches = [...groupByDuration(durationsOf)].flatMap(([duration, ids]) =>
      keyBatches(ids, batchSize).map((batch) => ({ duration, ids: batch })),
    )
    for (const date of slotDates(this.#reading.context)) {
      // One element a day is requested singly, so that a change of the order shows.
      const spot = Math.floor(Math.random() * batches.length)
      for (const [index, { duration, ids }] of batches.entries())
        found.push(...(await this.#readBatch({ ids, date, duration, isChecked: index === spot }, profile)))
    }
    return changeSet(found)
  }

  async #readBatch({ ids, date, duration, isChecked }: Batch, profile: Profile): Promise<readonly Found[]> {
    const isTrusted = profile.value(entries.availabilityOrder) === 'request'
    const { answer, found } = await this.#batchAnswer(ids, date, duration)
    if (answer === null) return [found]
    const { items, startedAt } = answer
    const cells = ids.map((resourceId) => ({ resourceId, date, duration }))
    const textAt = (index: number): string => stringifyJson(items[index] ?? null)
    if (isTrusted) {
      const spot = Math.floor(Math.random() * ids.length)
      const single = isChecked ? await this.single(cells[spot] as Cell) : undefined
      if (single?.outcome.kind === 'there' && stringifyJson(single.outcome.value.body) !== textAt(spot))
        await profile.contradict(
          entries.availabilityOrder,
          '',
          'An element of a batch differs from the same element requested alone.',
        )
      else
        for (const [index, cell] of cells.entries())
          this.#answers.set(cellKey(cell), { body: items[index] ?? null, startedAt })
      return single === undefined ? [found] : [found, single.found]
    }
    const singles = await Promise.all(cells.map((cell) => this.single(cell)))
    for (const [index, { outcome }] of singles.entries())
      if (outcome.kind === 'there') this.#answers.set(cellKey(cells[index] as Cell), outcome.value)
    const texts = singles.map(({ outcome }) => (outcome.kind === 'there' ? stringifyJson(outcome.value.body) : null))
    // Equal answers everywhere prove nothing about the order.
    if (texts.every((text, index) => text === textAt(index)) && new Set(texts).size > 1)
      await profile.found(entries.availabilityOrder, '', 'request')
    return [found, ...singles.map((single) => single.found)]
  }

  async #batchAnswer(
    ids: readonly string[],
    date: string,
    duration: string,
  ): Promise<{ readonly answer: { items: readonly Json[]; startedAt: Date } | null; readonly found: Found }> {
    if (ids.some((id) => id.includes(','))) return { answer: null, found: {} }
    const { reads, stream } = this.#reading
    const { outcome, found } = await readItems(this.#reading, {
      endpoint: reads.batch,
      params: {},
      query: { resourceIds: ids.join(','), date, duration },
    })
    const problems = outcome.kind === 'failed' ? [`${stream.name}: ${outcome.reason}`] : []
    const isWhole = outcome.kind === 'there' && outcome.value.items.length === ids.length
    return { answer: isWhole ? outcome.value : null, found: changeSet([found, { problems }]) }
  }

  single({ resourceId, date, duration }: Cell): Promise<Answered<ReadValue>> {
    const { single: endpoint } = this.#reading.reads
    return readOutcome(this.#reading, { endpoint, params: { resourceId }, query: { date, duration } })
  }

  /** The answer of a batch for one cell, if there is a trusted one. */
  answer(cell: Cell): Answer | undefined {
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
  { context, stream, reads }: Reading<'availability'>,
  resourceId: string,
  durations: readonly string[],
  batches: AvailabilityBatches,
): Promise<DetailRead> {
  const { request, scope } = parentValues(stream, resourceId)
  const { timeZone } = context.settings
  const dates = slotDates(context)
  const rows: SourcedRow[] = []
  const findings: Found[] = []
  let startedAt = context.clock.now()
  let complete = true
  const received = (replace: readonly Scope[]): readonly TableWrite[] => [
    { stream, mode: 'record', source: reads.single, readAt: startedAt, rows, replace },
  ]
  for (const date of dates)
    for (const duration of durations) {
      const cell = { resourceId, date, duration }
      const known = batches.answer(cell)
      const { outcome, found } =
        known === undefined
          ? await batches.single(cell)
          : { outcome: { kind: 'there' as const, value: known }, found: {} }
      findings.push(found)
      if (outcome.kind === 'gone' || outcome.kind === 'failed') return notRead(outcome, findings, received([]))
      const { body, startedAt: readAt } = outcome.value
      if (readAt < startedAt) startedAt = readAt
      const endpoint = known === undefined ? reads.single : reads.batch
      const own = projected({ stream, record: body, request: { ...request, date, duration }, endpoint, timeZone })
      findings.push({ counts: { read: 1 } }, own.found)
      if (own.row === undefined) complete = false
      else rows.push({ ...own.row, readAt, source: endpoint })
    }
  const range = { ...scope, from: { column: 'date', value: dates[0] ?? '', to: dates.at(-1) ?? '' } }
  return detailRead(startedAt, received(complete ? [range] : []), findings)
}
