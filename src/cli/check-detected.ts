// `check` of what syncs have found out about the API, and of what later answers contradict. Pure.

import { streams, windowsOf } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import { type DetectedSetting, isContradicted, notFoundPrefix } from '../profile/detected-settings.ts'
import { refusedPrefix } from '../profile/refused-parameters.ts'
import { filterSetting } from '../sync/details/links.ts'
import { atOnceSetting, needsRanges, type PricesAtOnce } from '../sync/details/readers/prices.ts'
import { type WindowsHonoured, windowsSetting } from '../sync/lists/windows.ts'
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
    key.startsWith(notFoundPrefix)
      ? [ok(`404 of ${key.slice(notFoundPrefix.length)}`, 'means an empty list below a record that exists')]
      : []
  return [
    ...known,
    ...pins.flatMap(refused),
    ...pins.filter((pin) => !isContradicted(pin)).flatMap(notFound),
    ...pins.filter(isContradicted).map(contradicted),
  ]
}

function refused({ key, value, probedAt }: DetectedSetting): readonly Finding[] {
  if (!key.startsWith(refusedPrefix)) return []
  const name = key.slice(refusedPrefix.length)
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
            key: windowsSetting(stream.name),
            name: `windows ${stream.name}`,
            untried: 'a worker tries it after its first complete sweep',
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
        ...{ key: filterSetting(stream), name: `filter ${stream.name}`, about },
        untried: `a sync tries it if more ${stream.name} lack a link than there are ${filter.stream}`,
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
    key: atOnceSetting,
    name: 'prices at once',
    untried: 'a sync of resource_pricetable tries it',
    about: aboutPrices,
  }
  return [...windows, ...filters, ...(needsRanges(priceDays) ? [prices] : [])]
}

function aboutWindows(stream: string, every: string | undefined, value: WindowsHonoured): Omit<Finding, 'name'> {
  if (value.honoured) return fine(`filter and order work: new and upcoming ${stream} are listed every ${every}`)
  const remedy = `Nothing is lost: the whole list of ${stream} is always read. A worker tries again within the hour.`
  return { status: 'warn', detail: `the API does not filter or order as requested: ${value.reason}`, remedy }
}

/** The consequence of a contradiction, by the beginning of the key. */
const remedies: readonly (readonly [string, string])[] = [
  ['page_base', 'The next sync probes it again. If it keeps changing, set API_PAGE_BASE.'],
  [
    atOnceSetting,
    'Nothing is lost: the next sync of resource_pricetable compares both again; until then each month is one request.',
  ],
  ['filter:', "Nothing is lost: each record's own read decides, and the filter is compared again before it is used."],
  ['availability_order', 'Nothing is lost: boats are requested one by one until the order of a batch is proven again.'],
  [
    notFoundPrefix,
    'Nothing is lost: a list that answers 404 is a failed read until a sync finds out again what it means.',
  ],
  ['summary:', 'The next sync probes it again.'],
]

function contradicted({ key, value, contradiction }: DetectedSetting): Finding {
  const remedy = remedies.find(([beginning]) => key.startsWith(beginning))?.[1] ?? 'The next sync probes it again.'
  const reason = contradiction ?? 'no reason was recorded'
  return warn(`probed ${key}`, `${JSON.stringify(value)} no longer holds: ${reason}`, remedy)
}
