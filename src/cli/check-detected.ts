// `check` of what syncs have found out about the API, and of what later answers contradict. Pure.

import { streams, windowsOf } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import {
  type DetectedSetting,
  entries,
  isContradicted,
  type PricesAtOnce,
  type WindowsHonoured,
} from '../profile/profile.ts'
import { filterName } from '../sync/details/links.ts'
import { needsRanges } from '../sync/details/readers/prices.ts'
import { type Finding, ok, warn } from './findings.ts'

type Settings = Pick<Config, 'priceDays'>

/** Something that is found out about the API; `about`: the finding, unless it is contradicted. */
type Detectable = {
  readonly key: string
  readonly name: string
  /** How it is going to be detected. */
  readonly untried: string
  about(value: unknown): Omit<Finding, 'name'>
}

/** Findings about filters, order and ranges; then what is contradicted. */
export function detectedFindings(pins: readonly DetectedSetting[], settings: Settings): readonly Finding[] {
  const byKey = new Map(pins.map((pin) => [pin.key, pin]))
  const known = detectables(settings).flatMap(({ key, name, untried, about }): readonly Finding[] => {
    const pin = byKey.get(key)
    if (pin === undefined) return [ok(name, `not tried yet: ${untried}`)]
    return isContradicted(pin) ? [] : [{ name, ...about(pin.value) }]
  })
  const notFound = ({ key }: DetectedSetting): readonly Finding[] =>
    key.startsWith(entries.notFound.name)
      ? [ok(`404 of ${key.slice(entries.notFound.name.length)}`, 'means an empty list below a record that exists')]
      : []
  return [
    ...known,
    ...pins.flatMap(refused),
    ...pins.filter((pin) => !isContradicted(pin)).flatMap(notFound),
    ...pins.filter(isContradicted).map(contradicted),
  ]
}

function refused({ key, value, probedAt }: DetectedSetting): readonly Finding[] {
  if (!key.startsWith(entries.refused.name)) return []
  const name = key.slice(entries.refused.name.length)
  const day = probedAt.toISOString().slice(0, 10)
  return [ok(`parameter ${name}`, `refused on ${day}, so it is not sent for seven days: ${value}`)]
}

const fine = (detail: string): Omit<Finding, 'name'> => ({ status: 'ok', detail, remedy: null })

function detectables({ priceDays }: Settings): readonly Detectable[] {
  const windows = streams.flatMap((stream): readonly Detectable[] =>
    windowsOf(stream) === undefined
      ? []
      : [
          {
            key: entries.windows.name + stream.name,
            name: `windows ${stream.name}`,
            untried: entries.windows.probe,
            about: (value) => aboutWindows(stream.name, stream.hotEvery, value as WindowsHonoured),
          },
        ],
  )
  const filters = streams.flatMap((stream): readonly Detectable[] => {
    const { filter } = stream.filledBy ?? {}
    if (filter === undefined) return []
    const about: Detectable['about'] = (value) =>
      fine(
        value === true
          ? `${filter.param} works: one request per record of ${filter.stream} links its ${stream.name}`
          : `${filter.param} does not work: each record of ${stream.name} is linked by its own read; retried after seven days`,
      )
    return [
      {
        ...{ key: entries.filter.name + filterName(stream), name: `filter ${stream.name}`, about },
        untried: entries.filter.probe.replace('<stream>', stream.name).replace('<parent>', filter.stream),
      },
    ]
  })
  const aboutPrices: Detectable['about'] = (value) => {
    const { days, whole } = value as PricesAtOnce
    if (days !== priceDays) return fine(`detected for ${days} days; will be compared again for PRICE_DAYS=${priceDays}`)
    return fine(
      whole
        ? `${days} days fit one request`
        : `the API answers one request for ${days} days incompletely, so each month is one request`,
    )
  }
  const prices = {
    key: entries.pricesAtOnce.name,
    name: 'prices at once',
    untried: entries.pricesAtOnce.probe,
    about: aboutPrices,
  }
  return [...windows, ...filters, ...(needsRanges(priceDays) ? [prices] : [])]
}

function aboutWindows(stream: string, every: string | undefined, value: WindowsHonoured): Omit<Finding, 'name'> {
  if (value.honoured) return fine(`filter and order work: new and upcoming ${stream} are listed every ${every}`)
  const remedy = `Nothing is lost: the whole list of ${stream} is always read. A worker tries again within the hour.`
  return { status: 'warn', detail: `the API does not filter or order as requested: ${value.reason}`, remedy }
}

function contradicted({ key, value, contradiction }: DetectedSetting): Finding {
  const remedy = Object.values(entries).find(({ name }) => key.startsWith(name))?.contradict ?? ''
  const reason = contradiction ?? 'no reason was recorded'
  return warn(`probed ${key}`, `${JSON.stringify(value)} no longer holds: ${reason}`, remedy)
}
