// Reads of a resource for days: price table, calendar, availability, slots. The mirror holds some days from today on,
// and answers only these.

import { get, isObject, type Json, parseJson, stringifyJson } from '../../api/wire/json.ts'
import { parentOf } from '../../catalog/catalog.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import { addDays, dateIn } from '../../clock.ts'
import { settings as settingNames } from '../../settings.ts'
import { bodyTag } from '../rights.ts'
import { askThrough, type Below, belowStatement, type Deps, isKnown, type Wanted } from './collections.ts'
import { type Handler, parentKeyOf, type Query, type ReadRequest, refuse, type Served } from './query.ts'
import { assertOn, readRow } from './states.ts'

/** What a request asks for below a resource, whose key is the first parameter of `wanted`. */
type Asked = {
  readonly wanted: Wanted
  /** The same as a query to the API. */
  readonly query: Readonly<Record<string, string>>
  /** The last requested day. */
  readonly lastDay: string
  /** Days that are mirrored, from the day of the reading on. */
  readonly days: number
  /** The answer from the rows of the mirror; null: they do not say. @throws Refusal 400 */
  readonly bodyOf: (items: string, resource: Resource) => string | null
}

type Resource = { readonly id: string; readonly durations: readonly string[] }

const today = ({ context: { settings, sync } }: Deps): string => dateIn(settings.timeZone, sync.clock.now())

/** Refuses a day that lies outside of what is mirrored. @throws Refusal 400 */
function assertMirrored(deps: Deps, name: string, day: string, setting: 'priceDays' | 'slotDays'): void {
  const first = today(deps)
  const last = addDays(first, deps.context.settings[setting] - 1)
  if (day < first || day > last)
    throw refuse(name, `the mirror holds ${first} to ${last} (${settingNames[setting].name}), not ${day}`)
}

/** Members that stand once in a price table, and once a day; all others belong to a price. */
const ofTable: ReadonlySet<string> = new Set(['resourceId', 'currency'])
const ofDay: ReadonlySet<string> = new Set(['date'])

const members = (record: Json, which: (name: string) => boolean): { [key: string]: Json } =>
  Object.fromEntries(Object.entries(isObject(record) ? record : {}).filter(([name]) => which(name)))

/** The price table of these days from its entries as they are stored, one a day and duration. Pure. */
function priceTable(entries: readonly Json[], { id, from, to }: { id: string; from: string; to: string }): Json {
  const byDay = new Map<string, Json[]>()
  for (let day = from; day <= to; day = addDays(day, 1)) byDay.set(day, [])
  for (const entry of entries) {
    const date = get(entry, 'date')
    const price = members(entry, (name) => !ofTable.has(name) && !ofDay.has(name))
    byDay.get(typeof date === 'string' ? date.slice(0, 10) : '')?.push(price)
  }
  const results = [...byDay].map(([date, pricetable]): Json => ({ date, pricetable }))
  return { resourceId: id, ...members(entries[0] ?? {}, (name) => ofTable.has(name)), results }
}

/** In the order in which a resource's durations are answered. */
const byDuration = `t.date, (select d.position from mirror.resource_durations d
    where d.resource_id = t.resource_id and d.type || ',' || d.value = t.duration and d._deleted_at is null), t.duration`

/** A price table. Which days the API answers without `from` or `to`, it does not say. */
function pricesIn(deps: Deps, _: StreamDef, query: Query): Asked {
  const [from, to] = [query.requiredDate('from'), query.requiredDate('to')]
  assertMirrored(deps, 'from', from, 'priceDays')
  assertMirrored(deps, 'to', to, 'priceDays')
  if (to < from) throw refuse('to', 'lies before from')
  return {
    ...{ query: { from, to }, lastDay: to, days: deps.context.settings.priceDays },
    wanted: { where: 't.date between $2::date and $3::date', values: [from, to], order: byDuration },
    bodyOf: (items, { id }) => {
      const { value } = parseJson(`[${items}]`)
      return stringifyJson(priceTable(Array.isArray(value) ? value : [], { id, from, to }))
    },
  }
}

/** The calendar of a year; default: this year, as the API has it. What was read last year ends with its own years. */
function calendarIn(deps: Deps, _: StreamDef, query: Query): Asked {
  const { calendarYears } = deps.context.settings
  const thisYear = Number(today(deps).slice(0, 4))
  const year = String(query.whole('year', { least: thisYear, most: thisYear + calendarYears - 1 }) ?? thisYear)
  return {
    ...{ query: { year }, lastDay: `${year}-01-01`, days: 366 * calendarYears },
    wanted: { where: 't.year = $2::bigint', values: [year] },
    bodyOf: (items) => items || null,
  }
}

/** What is offered on a day for a duration. The mirror holds only the first durations of a resource. */
function departureIn(deps: Deps, { reads }: StreamDef, query: Query): Asked {
  const { slotDays, slotDurations } = deps.context.settings
  const date = query.requiredDate('date')
  const duration = query.required('duration')
  assertMirrored(deps, 'date', date, 'slotDays')
  const areSlots = reads.kind === 'slots'
  return {
    ...{ query: { date, duration }, lastDay: date, days: slotDays },
    wanted: {
      ...{ where: 't.date = $2::date and t.duration = $3', values: [date, duration] },
      ...(areSlots && { order: 't.departure_datetime, t.id collate "C"' }),
      also: `array(select d.type || ',' || d.value from mirror.resource_durations d
        where d.resource_id = p.id and d._deleted_at is null order by d.position limit ${slotDurations}) as durations`,
    },
    bodyOf: (items, { id, durations }) => {
      if (durations.includes(duration)) return areSlots ? `[${items}]` : items || null
      const held = `of resource ${id} the mirror holds ${durations.join(' and ') || 'no duration'}`
      throw refuse('duration', `${held} (${settingNames.slotDurations.name}), not ${duration.slice(0, 50)}`)
    },
  }
}

const askedIn: Readonly<Record<string, (deps: Deps, stream: StreamDef, query: Query) => Asked>> = {
  pricetable: pricesIn,
  calendar: calendarIn,
  slots: departureIn,
  availability: departureIn,
}

/** So many resources are answered at once. */
const mostResources = 200

function resourcesIn(query: Query): readonly string[] {
  const ids = query.required('resourceIds').split(',')
  if (ids.length > mostResources) throw refuse('resourceIds', `must be at most ${mostResources} here`)
  return ids
}

/** Answers a read for days; null: this is none. */
export function datedHandler(deps: Deps, stream: StreamDef, endpoint: ReadEndpoint): Handler | null {
  const { reads } = stream
  const parent = parentOf(stream)
  const readQuery = askedIn[reads.kind]
  if (parent === undefined || readQuery === undefined) return null
  const { settings, sync } = deps.context

  /** From the mirror, if it was read whole and after the last requested day came into its horizon; else from the API. */
  const serve = async (request: ReadRequest, params: ReadRequest['params'], asked: Asked): Promise<Served> => {
    const { wanted, query, lastDay, days } = asked
    const { caller } = request
    const key = parentKeyOf(stream, params)
    const statement = belowStatement(stream, parent, key, wanted)
    const below = await readRow<Below & Partial<Resource>>(sync.database, caller, statement)
    if (isKnown(request, { stream, parent, key }, below)) {
      const { readAt, items, durations = [] } = below
      const isHeld = lastDay < addDays(dateIn(settings.timeZone, readAt), days)
      const body = isHeld ? asked.bodyOf(items, { id: key.join(' '), durations }) : null
      if (body !== null) return { body, asOf: readAt, tag: bodyTag(caller, body) }
    }
    const single = reads.kind === 'availability' ? reads.single : endpoint
    return await askThrough(deps, request, { stream, endpoint: single, params, query }, reads.kind === 'slots')
  }

  return async (request) => {
    const { caller, params, query } = request
    assertOn(stream, settings)
    const isBatch = reads.kind === 'availability' && endpoint === reads.batch
    const ids = isBatch ? resourcesIn(query) : []
    const asked = readQuery(deps, stream, query)
    query.off(stream)
    query.end()
    if (!isBatch) return await serve(request, params, asked)
    const all: Served[] = []
    for (const id of ids) all.push(await serve(request, { [stream.parentParams?.[0] ?? '']: id }, asked))
    const body = `[${all.map((each) => each.body).join(',')}]`
    const earliest = Math.min(...all.map(({ asOf }) => asOf.getTime()))
    return { body, asOf: new Date(earliest), tag: bodyTag(caller, body) }
  }
}
