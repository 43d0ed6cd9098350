// Reads of a resource for days: price table, calendar, availability, slots. The mirror holds some days from today on,
// and answers only these.

import { get, isObject, type Json, parseJson, stringifyJson } from '../../api/wire/json.ts'
import { parentOf } from '../../catalog/catalog.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import { addDays, dateIn } from '../../clock.ts'
import { settings as settingNames } from '../../settings.ts'
import { bodyTag, presentText } from '../rights.ts'
import { askThrough, type Below, belowStatement, type Deps, isKnown, type Wanted } from './collections.ts'
import { parentKeyOf, refuse } from './query.ts'
import { assertOn, readRow } from './states.ts'
import type { Handler, ReadRequest, Served } from './types.ts'

/** A read below a resource, with what a request asks of it. */
type DatedRead = {
  readonly stream: StreamDef
  readonly parent: StreamDef
  readonly endpoint: ReadEndpoint
  readonly key: readonly string[]
  readonly wanted: Wanted
  /** The same as a query to the API. */
  readonly query: Readonly<Record<string, string>>
  /** The last requested day. */
  readonly lastDay: string
  /** Days that are mirrored, from the day of the reading on. */
  readonly days: number
  readonly list: boolean
}

type Known = Below & { readonly readAt: Date; readonly items: string; readonly durations?: readonly string[] }

const today = ({ context: { settings, sync } }: Deps): string => dateIn(settings.timeZone, sync.clock.now())

/** The mirror's data; null: it was not read, or was read before the last requested day came into its horizon. */
async function lookUp(deps: Deps, request: ReadRequest, read: DatedRead): Promise<Known | null> {
  const { stream, parent, key, wanted, lastDay, days } = read
  const { sync, settings } = deps.context
  const statement = belowStatement(stream, parent, key, wanted)
  const below = await readRow<Below>(sync.database, request.caller, statement)
  if (!isKnown(request, { stream, parent, key }, below)) return null
  return lastDay < addDays(dateIn(settings.timeZone, below.readAt), days) ? below : null
}

const ask = (deps: Deps, request: ReadRequest, read: DatedRead, params: ReadRequest['params']): Promise<Served> =>
  askThrough(deps, request, { stream: read.stream, endpoint: read.endpoint, params, query: read.query }, read.list)

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

/** Answers a price table. Which days the API answers without `from` or `to`, it does not say. */
function priceHandler(deps: Deps, stream: StreamDef, parent: StreamDef, endpoint: ReadEndpoint): Handler {
  return async (request) => {
    const { caller, params, query } = request
    const [from, to] = [query.requiredDate('from'), query.requiredDate('to')]
    query.end()
    const key = parentKeyOf(stream, params)
    assertMirrored(deps, 'from', from, 'priceDays')
    assertMirrored(deps, 'to', to, 'priceDays')
    if (to < from) throw refuse('to', 'lies before from')
    const place = key.length + 1
    const read: DatedRead = {
      ...{ stream, parent, endpoint, key, query: { from, to }, list: false },
      wanted: {
        where: `t.date between $${place}::date and $${place + 1}::date`,
        values: [from, to],
        order: byDuration,
      },
      lastDay: to,
      days: deps.context.settings.priceDays,
    }
    const known = await lookUp(deps, request, read)
    if (known === null) return await ask(deps, request, read, params)
    const { value } = parseJson(`[${known.items}]`)
    const body = stringifyJson(priceTable(Array.isArray(value) ? value : [], { id: key[0] ?? '', from, to }))
    return { body, asOf: known.readAt, tag: bodyTag(caller, body) }
  }
}

/** Answers the calendar of a year; default: this year, as the API has it. */
function calendarHandler(deps: Deps, stream: StreamDef, parent: StreamDef, endpoint: ReadEndpoint): Handler {
  return async (request) => {
    const { caller, params, query } = request
    const { calendarYears } = deps.context.settings
    const thisYear = Number(today(deps).slice(0, 4))
    const most = thisYear + calendarYears - 1
    const year = query.whole('year', { least: thisYear, most }) ?? thisYear
    query.off(stream)
    query.end()
    const key = parentKeyOf(stream, params)
    const wanted = { where: `t.year = $${key.length + 1}::bigint`, values: [String(year)] }
    const common = { stream, parent, endpoint, key, wanted, query: { year: String(year) }, list: false }
    // What was read last year ends with its own years.
    const read: DatedRead = { ...common, lastDay: `${year}-01-01`, days: 366 * calendarYears }
    const known = await lookUp(deps, request, read)
    if (known === null || known.items === '') return await ask(deps, request, read, params)
    const body = presentText(caller, stream, known.items)
    return { body, asOf: known.readAt, tag: bodyTag(caller, body) }
  }
}

type Departure = { readonly date: string; readonly duration: string }

/** The day and the duration that a request asks for. @throws Refusal 400 */
function departureOf(deps: Deps, stream: StreamDef, { query }: ReadRequest): Departure {
  const date = query.requiredDate('date')
  const duration = query.required('duration')
  query.off(stream)
  assertMirrored(deps, 'date', date, 'slotDays')
  return { date, duration }
}

/** The mirror's data of a resource for a day and a duration. @throws Refusal 400 where it holds only other durations */
async function lookUpDeparture(
  deps: Deps,
  request: ReadRequest,
  read: DatedRead,
  duration: string,
): Promise<Known | null> {
  const { slotDurations } = deps.context.settings
  const known = await lookUp(deps, request, {
    ...read,
    wanted: {
      ...read.wanted,
      also: `array(select d.type || ',' || d.value from mirror.resource_durations d
        where d.resource_id = p.id and d._deleted_at is null order by d.position limit ${slotDurations}) as durations`,
    },
  })
  if (known === null) return null
  const { durations = [] } = known
  if (!durations.includes(duration)) {
    const held = `of resource ${read.key.join(' ')} the mirror holds ${durations.join(' and ') || 'no duration'}`
    throw refuse('duration', `${held} (${settingNames.slotDurations.name}), not ${duration.slice(0, 50)}`)
  }
  return known
}

function departureRead(
  deps: Deps,
  { stream, parent, endpoint }: Pick<DatedRead, 'stream' | 'parent' | 'endpoint'>,
  key: readonly string[],
  { date, duration }: Departure,
): DatedRead {
  const place = key.length + 1
  const where = `t.date = $${place}::date and t.duration = $${place + 1}`
  const order = stream.reads.kind === 'slots' ? 't.departure_datetime, t.id collate "C"' : undefined
  return {
    ...{ stream, parent, endpoint, key, query: { date, duration }, list: stream.reads.kind === 'slots' },
    wanted: { where, values: [date, duration], ...(order !== undefined && { order }) },
    lastDay: date,
    days: deps.context.settings.slotDays,
  }
}

/** Answers the slots of a day and a duration. */
function slotsHandler(deps: Deps, stream: StreamDef, parent: StreamDef, endpoint: ReadEndpoint): Handler {
  return async (request) => {
    const { caller, params, query } = request
    const departure = departureOf(deps, stream, request)
    query.end()
    const read = departureRead(deps, { stream, parent, endpoint }, parentKeyOf(stream, params), departure)
    const known = await lookUpDeparture(deps, request, read, departure.duration)
    if (known === null) return await ask(deps, request, read, params)
    const body = `[${known.items}]`
    return { body, asOf: known.readAt, tag: bodyTag(caller, body) }
  }
}

/** The availability of one resource. */
async function availability(
  deps: Deps,
  request: ReadRequest,
  at: { readonly stream: StreamDef; readonly parent: StreamDef; readonly departure: Departure; readonly id: string },
): Promise<Served> {
  const { stream, parent, departure, id } = at
  const { reads } = stream
  const params = { [stream.parentParams?.[0] ?? '']: id }
  const endpoint = reads.kind === 'availability' ? reads.single : 'GET /v3/'
  const read = departureRead(deps, { stream, parent, endpoint }, parentKeyOf(stream, params), departure)
  const known = await lookUpDeparture(deps, request, read, departure.duration)
  if (known === null || known.items === '') return await ask(deps, request, read, params)
  return { body: known.items, asOf: known.readAt, tag: bodyTag(request.caller, known.items) }
}

/** So many resources are answered at once. */
const mostResources = 200

/** Answers the availability of several resources, in the requested order. */
function batchHandler(deps: Deps, stream: StreamDef, parent: StreamDef): Handler {
  return async (request) => {
    const { query, caller } = request
    const ids = query.required('resourceIds').split(',')
    if (ids.length > mostResources) throw refuse('resourceIds', `must be at most ${mostResources} here`)
    const departure = departureOf(deps, stream, request)
    query.end()
    const all: Served[] = []
    for (const id of ids) all.push(await availability(deps, request, { stream, parent, departure, id }))
    const body = `[${all.map((each) => each.body).join(',')}]`
    const earliest = Math.min(...all.map(({ asOf }) => asOf.getTime()))
    return { body, asOf: new Date(earliest), tag: bodyTag(caller, body) }
  }
}

function singleHandler(deps: Deps, stream: StreamDef, parent: StreamDef): Handler {
  return async (request) => {
    const departure = departureOf(deps, stream, request)
    request.query.end()
    const [id = ''] = parentKeyOf(stream, request.params)
    return await availability(deps, request, { stream, parent, departure, id })
  }
}

/** Answers a read for days; null: this is none. */
export function datedHandler(deps: Deps, stream: StreamDef, endpoint: ReadEndpoint): Handler | null {
  const parent = parentOf(stream)
  if (parent === undefined) return null
  const handler = handlerOf(deps, { stream, parent, endpoint })
  if (handler === null) return null
  return async (request) => {
    assertOn(stream, deps.context.settings)
    return await handler(request)
  }
}

function handlerOf(
  deps: Deps,
  { stream, parent, endpoint }: Pick<DatedRead, 'stream' | 'parent' | 'endpoint'>,
): Handler | null {
  const { reads } = stream
  switch (reads.kind) {
    case 'pricetable':
      return priceHandler(deps, stream, parent, endpoint)
    case 'calendar':
      return calendarHandler(deps, stream, parent, endpoint)
    case 'slots':
      return slotsHandler(deps, stream, parent, endpoint)
    case 'availability':
      return endpoint === reads.batch ? batchHandler(deps, stream, parent) : singleHandler(deps, stream, parent)
    default:
      return null
  }
}
