// Settings: one table with name, default, parser and meaning. README's table and every error message come from it.
// Precedence: environment, then .env, then the file named by BOAT_MIRROR_CONFIG, then the default (design, section 4).

import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { config as readDotenv } from 'dotenv'
import { parse as parseYaml } from 'yaml'
import { BoatMirrorError, messageOf } from './errors.ts'

export type AuthSetting =
  | { readonly kind: 'bearer' | 'basic' | 'none' }
  | { readonly kind: 'header' | 'query'; readonly name: string }

export type PagingStyle = 'page' | 'offset' | 'cursor' | 'link' | 'none'

/** How a list is paged. `null` means: found by itself. */
export type PagingSettings = {
  readonly style: PagingStyle
  readonly pageParam: string
  readonly sizeParam: string
  readonly pageSize: number
  /** Number of the first page (or offset of the first record); null: probed. */
  readonly pageBase: number | null
  readonly itemsPath: string | null
  readonly nextPath: string | null
  /** A dotted path, or `header:NAME`. */
  readonly totalPath: string | null
}

export type ApiSettings = {
  /** Root of the API without `/v3`; null: the built-in sandbox. */
  readonly baseUrl: string | null
  readonly token: string | null
  readonly auth: AuthSetting
  readonly language: string | null
  readonly paging: PagingSettings
  /** Per-list exceptions, by stream name. */
  readonly lists: Readonly<Record<string, Partial<PagingSettings>>>
  /** Requests per second over all workers; 0: no limit; null: the default (10, or 0 against the sandbox). */
  readonly rateLimit: number | null
  readonly concurrency: number
  readonly timeoutMs: number
  /** A new rental's `referenceId` goes as a number where it is one (upstream-api section 11, row 2). */
  readonly referenceAsNumber: boolean
}

export type Config = {
  readonly api: ApiSettings
  readonly databaseUrl: string | null
  readonly redisUrl: string | null
  readonly autoMigrate: boolean
  readonly dataDir: string
  readonly host: string
  readonly port: number
  readonly adminToken: string | null
  /** Share of a stream (0..1) that may go within 24 hours without a person. */
  readonly deleteLimit: number
  readonly timeZone: string
  readonly detailMaxAgeMs: number
  readonly historyDays: number
  readonly mirrorDocuments: boolean
  readonly calendarYears: number
  readonly priceDays: number
  readonly slotDays: number
  readonly slotDurations: number
  readonly logLevel: string
  /** Per-stream intervals that replace the default ones, in milliseconds; 0 takes the stream off the schedule. */
  readonly schedules: Readonly<Record<string, number>>
  /** Per-stream freshness targets in milliseconds. */
  readonly targets: Readonly<Record<string, number>>
}

/** A setting as a person sees it. `takes` completes the sentence "takes …". */
type Setting<T> = {
  readonly name: string
  readonly fallback: string | null
  readonly takes: string
  readonly meaning: string
  readonly parse: (text: string) => T | undefined
}

const text = (value: string): string | undefined => (value === '' ? undefined : value)
const integer =
  (min: number, max: number) =>
  (value: string): number | undefined => {
    if (!/^\d{1,9}$/.test(value)) return undefined
    const number = Number(value)
    return number >= min && number <= max ? number : undefined
  }
const oneOf =
  <const T extends string>(...allowed: readonly T[]) =>
  (value: string): T | undefined =>
    allowed.find((item) => item === value)
const onOff = (value: string): boolean | undefined => ({ on: true, off: false })[value]
const url =
  (...protocols: readonly string[]) =>
  (value: string): string | undefined => {
    if (!URL.canParse(value)) return undefined
    return protocols.includes(new URL(value).protocol) ? value.replace(/\/+$/, '') : undefined
  }

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses `90s`, `15m`, `24h`, `7d` into milliseconds; undefined when it is none of these. */
export function parseDuration(value: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(value)
  const unit = match?.[2]
  return match?.[1] === undefined || unit === undefined ? undefined : Number(match[1]) * (unitMs[unit] ?? 1)
}

function parseAuth(value: string): AuthSetting | undefined {
  if (value === 'bearer' || value === 'basic' || value === 'none') return { kind: value }
  const match = /^(header|query):([A-Za-z0-9_.-]+)$/.exec(value)
  if (match?.[2] === undefined) return undefined
  return { kind: match[1] === 'header' ? 'header' : 'query', name: match[2] }
}

function parseShare(value: string): number | undefined {
  const match = /^(\d{1,3}(?:\.\d+)?)%$/.exec(value)
  const percent = match === null ? Number.NaN : Number(match[1])
  return percent >= 0 && percent <= 100 ? percent / 100 : undefined
}

function parseTimeZone(value: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone && value
  } catch {
    return undefined // not a zone: the caller reports it with the variable's name
  }
}

const define = <T>(
  name: string,
  fallback: string | null,
  takes: string,
  meaning: string,
  parse: (text: string) => T | undefined,
): Setting<T> => ({ name, fallback, takes, meaning, parse })

const years = integer(0, 10)

/** Every variable of the contract (design, section 4), in the order of the README. */
export const settings = {
  baseUrl: define('API_BASE_URL', null, 'an http(s) address without /v3', 'root of the API; unset: the sandbox', (v) =>
    url('http:', 'https:')(v)?.replace(/\/v3$/, ''),
  ),
  token: define('API_TOKEN', null, 'any text', 'the secret', text),
  auth: define(
    'API_AUTH',
    'bearer',
    'bearer, basic, header:NAME, query:NAME or none',
    'how the secret is sent',
    parseAuth,
  ),
  language: define('API_LANGUAGE', null, 'a language such as fr', 'sent as Accept-Language', (v) =>
    /^[A-Za-z0-9,;=.* -]+$/.test(v) ? v : undefined,
  ),
  paging: define(
    'API_PAGING',
    'page',
    'page, offset, cursor or link',
    'paging style',
    oneOf('page', 'offset', 'cursor', 'link'),
  ),
  pageParam: define('API_PAGE_PARAM', 'page', 'a query parameter name', 'which page, offset or cursor', text),
  sizeParam: define('API_SIZE_PARAM', 'perPage', 'a query parameter name', 'records per page', text),
  pageSize: define(
    'API_PAGE_SIZE',
    '100',
    'a whole number from 1 to 10000',
    'records asked for per page',
    integer(1, 10_000),
  ),
  pageBase: define('API_PAGE_BASE', null, '0 or 1', 'number of the first page; unset: probed', integer(0, 1)),
  itemsPath: define(
    'API_ITEMS_PATH',
    null,
    'a dotted path such as data.items',
    'where the records stand; unset: found by itself',
    text,
  ),
  nextPath: define(
    'API_NEXT_PATH',
    null,
    'a dotted path such as meta.nextCursor',
    'where the next cursor stands; unset: found by itself',
    text,
  ),
  totalPath: define(
    'API_TOTAL_PATH',
    null,
    'a dotted path, or header:NAME',
    'where the total stands; unset: found by itself',
    text,
  ),
  rateLimit: define(
    'API_RATE_LIMIT',
    null,
    'a whole number from 0 to 100000',
    'requests per second over all workers; default 10, and 0 (no limit) against the sandbox',
    integer(0, 100_000),
  ),
  concurrency: define(
    'API_CONCURRENCY',
    '8',
    'a whole number from 1 to 256',
    'requests in flight per process',
    integer(1, 256),
  ),
  timeoutMs: define(
    'API_TIMEOUT_MS',
    '30000',
    'milliseconds from 100 to 600000',
    'time limit of one request',
    integer(100, 600_000),
  ),
  referenceAsNumber: define(
    'API_REFERENCE_AS_NUMBER',
    'off',
    'on or off',
    'on: the API takes `referenceId` as a number when a rental is created',
    onOff,
  ),
  databaseUrl: define(
    'DATABASE_URL',
    null,
    'a postgres:// address',
    'Postgres 14 or newer; unset: the embedded one',
    url('postgres:', 'postgresql:'),
  ),
  redisUrl: define(
    'REDIS_URL',
    null,
    'a redis:// or rediss:// address',
    'BullMQ on Redis; unset: on Postgres',
    url('redis:', 'rediss:'),
  ),
  autoMigrate: define('AUTO_MIGRATE', 'on', 'on or off', 'worker, sync and push migrate first', onOff),
  dataDir: define('DATA_DIR', '.boat-mirror', 'a folder', 'files of the embedded database', text),
  host: define(
    'HOST',
    '127.0.0.1',
    'an address to listen on',
    'operator pages; not loopback demands ADMIN_TOKEN',
    text,
  ),
  port: define('PORT', '8484', 'a port from 0 to 65535', 'operator pages', integer(0, 65_535)),
  adminToken: define('ADMIN_TOKEN', null, 'at least 16 characters', 'opens the operator pages', (v) =>
    v.length >= 16 ? v : undefined,
  ),
  deleteLimit: define(
    'DELETE_LIMIT',
    '10%',
    'a share such as 10%',
    'how much of a stream may go within 24 hours without a person',
    parseShare,
  ),
  timeZone: define(
    'TIME_ZONE',
    'UTC',
    'an IANA zone such as Europe/Paris',
    'what "today" is, and date-times without offset',
    parseTimeZone,
  ),
  detailMaxAgeMs: define(
    'DETAIL_MAX_AGE',
    '24h',
    'a duration such as 90s, 15m, 24h or 7d',
    'when unchanged details are read again',
    parseDuration,
  ),
  historyDays: define(
    'HISTORY_DAYS',
    '400',
    'days from 1 to 36500',
    'how long change log, runs, settled changes and past calendar days are kept',
    integer(1, 36_500),
  ),
  mirrorDocuments: define(
    'MIRROR_DOCUMENTS',
    'on',
    'on or off',
    'off: identity and license documents are not read',
    onOff,
  ),
  calendarYears: define('CALENDAR_YEARS', '2', 'years from 0 to 10', 'calendars: this year and the following', years),
  priceDays: define('PRICE_DAYS', '90', 'days from 0 to 730', 'price tables: from today', integer(0, 730)),
  slotDays: define(
    'SLOT_DAYS',
    '3',
    'days from 0 to 366',
    'slots and availability: from today; 0 switches them off',
    integer(0, 366),
  ),
  slotDurations: define(
    'SLOT_DURATIONS',
    '1',
    'a whole number from 0 to 50',
    'slots and availability: the first K durations of a resource',
    integer(0, 50),
  ),
  logLevel: define(
    'LOG_LEVEL',
    'info',
    'trace, debug, info, warn, error, fatal or silent',
    'what is logged',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
  ),
} as const

type SettingKey = keyof typeof settings
type ParsedSettings = { [K in SettingKey]: Exclude<ReturnType<(typeof settings)[K]['parse']>, undefined> | null }

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A setting's value without what must not be shown: passwords in addresses, and the secrets as a whole. */
function shown(name: string, value: string): string {
  if (name === 'API_TOKEN' || name === 'ADMIN_TOKEN') return 'a value that is not shown'
  return JSON.stringify(value.replace(/\/\/[^@/]*@/, '//***@').slice(0, 100))
}

function readFile(env: Readonly<Record<string, string | undefined>>, cwd: string): Record<string, unknown> {
  const named = env.BOAT_MIRROR_CONFIG
  const path = resolve(cwd, named ?? 'boat-mirror.yaml')
  if (!existsSync(path)) {
    if (named === undefined) return {}
    throw new BoatMirrorError('CONFIG_INVALID', `BOAT_MIRROR_CONFIG names ${named}, and there is no such file.`)
  }
  let parsed: unknown
  try {
    parsed = parseYaml(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new BoatMirrorError('CONFIG_INVALID', `${path} is not valid YAML: ${messageOf(cause).split('\n')[0]}`, {
      cause,
    })
  }
  if (parsed === null || parsed === undefined) return {}
  if (!isRecord(parsed)) throw new BoatMirrorError('CONFIG_INVALID', `${path} must hold names and values.`)
  return parsed
}

const fileSections = ['schedules', 'targets', 'lists']

function durations(section: unknown, name: string, problems: string[]): Record<string, number> {
  if (section === undefined) return {}
  if (!isRecord(section)) {
    problems.push(`${name} in the file takes stream names with durations such as 15m.`)
    return {}
  }
  const entries: [string, number][] = []
  for (const [stream, value] of Object.entries(section)) {
    const ms = value === false || value === 'off' ? 0 : parseDuration(String(value))
    if (ms === undefined)
      problems.push(`${name}.${stream} is ${JSON.stringify(value)}; it takes a duration such as 15m, or off.`)
    else entries.push([stream, ms])
  }
  return Object.fromEntries(entries)
}

const listKeys: Readonly<Record<string, SettingKey | 'style'>> = {
  paging: 'style',
  pageParam: 'pageParam',
  sizeParam: 'sizeParam',
  pageSize: 'pageSize',
  pageBase: 'pageBase',
  itemsPath: 'itemsPath',
  nextPath: 'nextPath',
  totalPath: 'totalPath',
}
const listStyles = oneOf('page', 'offset', 'cursor', 'link', 'none')

function lists(section: unknown, problems: string[]): Record<string, Partial<PagingSettings>> {
  if (section === undefined) return {}
  if (!isRecord(section)) {
    problems.push('lists in the file takes stream names with paging settings.')
    return {}
  }
  const result: Record<string, Partial<PagingSettings>> = {}
  for (const [stream, raw] of Object.entries(section)) {
    if (!isRecord(raw)) {
      problems.push(`lists.${stream} takes settings such as {paging: page}.`)
      continue
    }
    const entry: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(raw)) {
      const target = listKeys[key]
      const parsed =
        target === undefined
          ? undefined
          : target === 'style'
            ? listStyles(String(value))
            : settings[target].parse(String(value))
      if (target === undefined || parsed === undefined)
        problems.push(
          `lists.${stream}.${key} is ${JSON.stringify(value)}; known are ${Object.keys(listKeys).join(', ')}.`,
        )
      else entry[target] = parsed
    }
    result[stream] = entry as Partial<PagingSettings>
  }
  return result
}

/** The environment a program starts with: `.env` of the folder first, then the process's own variables, which win. */
export function readEnvironment(cwd = process.cwd()): Record<string, string | undefined> {
  const fromFile: Record<string, string> = {}
  readDotenv({ path: resolve(cwd, '.env'), processEnv: fromFile, quiet: true })
  return { ...fromFile, ...process.env }
}

/**
 * Reads every setting. An empty variable counts as unset.
 * @throws BoatMirrorError CONFIG_INVALID with one line per wrong value: the variable, what it got, what it takes.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>, cwd = process.cwd()): Config {
  const file = readFile(env, cwd)
  const problems: string[] = []
  const names = new Set<string>([...Object.values(settings).map((setting) => setting.name), ...fileSections])
  for (const key of Object.keys(file)) if (!names.has(key)) problems.push(`${key} in the file is not a setting.`)

  const read = (setting: Setting<unknown>): unknown => {
    const given = env[setting.name] || (file[setting.name] === undefined ? undefined : String(file[setting.name]))
    const value = given ?? setting.fallback
    if (value === null || value === '') return null
    const parsed = setting.parse(value.trim())
    if (parsed === undefined)
      problems.push(`${setting.name} is ${shown(setting.name, value)}; it takes ${setting.takes}.`)
    return parsed ?? null
  }
  const value = Object.fromEntries(
    Object.entries(settings).map(([key, setting]) => [key, read(setting as Setting<unknown>)]),
  ) as ParsedSettings

  const loopback = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/
  if (value.host !== null && !loopback.test(value.host) && value.adminToken === null)
    problems.push(`HOST is "${value.host}", which is not loopback: set ADMIN_TOKEN (at least 16 characters) as well.`)
  if (value.baseUrl !== null && value.auth !== null && value.auth.kind !== 'none' && value.token === null)
    problems.push(`API_TOKEN is not set, and API_AUTH is ${value.auth.kind}: set API_TOKEN, or API_AUTH=none.`)
  if (value.auth?.kind === 'basic' && value.token !== null && !value.token.includes(':'))
    problems.push('API_TOKEN must be user:password, because API_AUTH is basic.')

  const config = assemble(value, resolve(cwd, value.dataDir ?? '.boat-mirror'), {
    schedules: durations(file.schedules, 'schedules', problems),
    targets: durations(file.targets, 'targets', problems),
    lists: lists(file.lists, problems),
  })
  if (problems.length > 0) throw new BoatMirrorError('CONFIG_INVALID', problems.join('\n'))
  return config
}

type FileSettings = Pick<Config, 'schedules' | 'targets'> & Pick<ApiSettings, 'lists'>

function assemble(value: ParsedSettings, dataDir: string, file: FileSettings): Config {
  const need = <T>(given: T | null): T => given as T // every setting with a default is set, or reported by the caller
  return {
    api: {
      baseUrl: value.baseUrl,
      token: value.token,
      auth: need(value.auth),
      language: value.language,
      paging: {
        style: need(value.paging),
        pageParam: need(value.pageParam),
        sizeParam: need(value.sizeParam),
        pageSize: need(value.pageSize),
        pageBase: value.pageBase,
        itemsPath: value.itemsPath,
        nextPath: value.nextPath,
        totalPath: value.totalPath,
      },
      lists: file.lists,
      rateLimit: value.rateLimit,
      concurrency: need(value.concurrency),
      timeoutMs: need(value.timeoutMs),
      referenceAsNumber: need(value.referenceAsNumber),
    },
    databaseUrl: value.databaseUrl,
    redisUrl: value.redisUrl,
    autoMigrate: need(value.autoMigrate),
    dataDir,
    host: need(value.host),
    port: need(value.port),
    adminToken: value.adminToken,
    deleteLimit: need(value.deleteLimit),
    timeZone: need(value.timeZone),
    detailMaxAgeMs: need(value.detailMaxAgeMs),
    historyDays: need(value.historyDays),
    mirrorDocuments: need(value.mirrorDocuments),
    calendarYears: need(value.calendarYears),
    priceDays: need(value.priceDays),
    slotDays: need(value.slotDays),
    slotDurations: need(value.slotDurations),
    logLevel: need(value.logLevel),
    schedules: file.schedules,
    targets: file.targets,
  }
}
