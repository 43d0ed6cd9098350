// Reads of a resource for days: price table, calendar, availability, slots. The mirror holds some days from today on,
// and answers only these.

import { get, isObject, type Json, parseJson, stringifyJson } from '../../api/wire/json.ts'
import { parentOf } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import { addDays, dateIn } from '../../clock.ts'
import { settings as settingNames } from '../../settings.ts'
import { bodyTag } from '../rights.ts'
import { askThrough, type Below, belowStatement, type Deps, isKnown, type Wanted } from './collections.ts'
import { type Handler, parentKeyOf, type Query, type ReadRequest, refuse, type Served } from './query.ts'
import { assertOn, rowReader } from './states.ts'

/** What a request asks for below a resource. */
type Asked = {
  /** The parameters of {@link Dated} that follow the resource. */
  readonly values: readonly string[]
  /** The same as a query to the API. */
  readonly query: Readonly<Record<string, string>>
  /** The last requested day. */
  readonly lastDay: string
  /** Days that are mirrored, from the day of the reading on. */
  readonly days: number
  /** The answer from the rows of the mirror; null: they do not say. @throws Refusal 400 */
  readonly bodyOf: (items: string, resource: Resource) => string | null
}

/** A read for days below a resource, which is the first two parameters of `wanted`. */
type Dated = { readonly wanted: Wanted; readonly askedIn: (query: Query) => Asked }

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
const prices = (deps: Deps): Dated => ({
  wanted: { where: 't.date between $3::date and $4::date', order: byDuration },
  askedIn: (query) => {
    const [from, to] = [query.requiredDate('from'), query.requiredDate('to')]
    assertMirrored(deps, 'from', from, 'priceDays')
    assertMirrored(deps, 'to', to, 'priceDays')
    if (to < from) throw refuse('to', 'lies before from')
    return {
      ...{ values: [from, to], query: { from, to }, lastDay: to, days: deps.context.settings.priceDays },
      bodyOf: (items, { id }) => {
        const { value } = parseJson(`[${items}]`)
        return stringifyJson(priceTable(Array.isArray(value) ? value : [], { id, from, to }))
      },
    }
  },
})

/** The calendar of a year; default: this year, as the API has it. What was read last year ends with its own years. */
const calendar = (deps: Deps): Dated => ({
  wanted: { where: 't.year = $3::bigint' },
  askedIn: (query) => {
    const { calendarYears } = deps.context.settings
    const thisYear = Number(today(deps).slice(0, 4))
    const year = String(query.whole('year', { least: thisYear, most: thisYear + calendarYears - 1 }) ?? thisYear)
    const days = 366 * calendarYears
    return { values: [year], query: { year }, lastDay: `${year}-01-01`, days, bodyOf: (items) => items || null }
  },
})

/** What is offered on a day for a duration. The mirror holds only the first durations of a resource. */
function departures(deps: Deps, { reads }: StreamDef): Dated {
  const { slotDays, slotDurations } = deps.context.settings
  const areSlots = reads.kind === 'slots'
  return {
    wanted: {
      where: 't.date = $3::date and t.duration = $4',
      ...(areSlots && { order: 't.departure_datetime, t.id collate "C"' }),
      also: `array(select d.type || ',' || d.value from mirror.resource_durations d
        where d.resource_id = p.id and d._deleted_at is null order by d.position limit ${slotDurations}) as durations`,
    },
    askedIn: (query) => {
      const date = query.requiredDate('date')
      const duration = query.required('duration')
      assertMirrored(deps, 'date', date, 'slotDays')
      return {
        ...{ values: [date, duration], query: { date, duration }, lastDay: date, days: slotDays },
        bodyOf: (items, { id, durations }) => {
          if (durations.includes(duration)) return areSlots ? `[${items}]` : items || null
          const held = `of resource ${id} the mirror holds ${durations.join(' and ') || 'no duration'}`
          throw refuse('duration', `${held} (${settingNames.slotDurations.name}), not ${duration.slice(0, 50)}`)
        },
      }
    },
  }
}

const readsForDays: Readonly<Record<string, (deps: Deps, stream: StreamDef) => Dated>> = {
  pricetable: prices,
  calendar,
  slots: departures,
  availability: departures,
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
  const dated = readsForDays[reads.kind]?.(deps, stream)
  if (parent === undefined || dated === undefined) return null
  const { settings, sync } = deps.context
  const readBelow = rowReader<Below & Partial<Resource>>(sync.database, belowStatement(stream, parent, dated.wanted))

  /** From the mirror, if it was read whole and after the last requested day came into its horizon; else from the API. */
  const serve = async (request: ReadRequest, params: ReadRequest['params'], asked: Asked): Promise<Served> => {
    const { values, query, lastDay, days } = asked
    const { caller } = request
    const key = parentKeyOf(stream, params)
    const below = await readBelow(caller, [keyText(key), ...key, ...values])
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
    const asked = dated.askedIn(query)
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
