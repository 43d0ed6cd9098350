// The settings as data: one table with name, default, parser and meaning. README's table and every error message come
// from it; config.ts reads the values.

export type AuthSetting =
  | { readonly kind: 'bearer' | 'basic' | 'none' }
  | { readonly kind: 'header' | 'query'; readonly name: string }

/** The paging styles (src/api/paging holds a module for each); `none`, a list without pages, is for single lists to say. */
export const pagingStyles = ['page', 'offset', 'cursor', 'link', 'none'] as const
export type PagingStyle = (typeof pagingStyles)[number]
const generalStyles = pagingStyles.filter((style) => style !== 'none')

/** A setting as a person sees it. `takes` completes the sentence "takes …". */
export type Setting<T> = {
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
export const oneOf =
  <const T extends string>(...allowed: readonly T[]) =>
  (value: string): T | undefined =>
    allowed.find((item) => item === value)
/** `a, b or c`. */
export const either = (allowed: readonly string[]): string => `${allowed.slice(0, -1).join(', ')} or ${allowed.at(-1)}`
const onOff = (value: string): boolean | undefined => (value === 'on' ? true : value === 'off' ? false : undefined)
const url =
  (...protocols: readonly string[]) =>
  (value: string): string | undefined => {
    if (!URL.canParse(value)) return undefined
    return protocols.includes(new URL(value).protocol) ? value.replace(/\/+$/, '') : undefined
  }
/** A proxy's address; without a scheme it is http, as everywhere. */
function parseProxy(value: string): string | undefined {
  const address = url('http:', 'https:')(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`)
  try {
    const { username, password } = new URL(address ?? '')
    decodeURIComponent(username + password)
    return address
  } catch {
    return undefined // no address, or credentials with a % that stands for nothing
  }
}

function apiAddress(value: string): string | undefined {
  const address = url('http:', 'https:')(value)?.replace(/\/v3$/, '')
  if (address === undefined) return undefined
  const { username, password, search, hash } = new URL(address)
  try {
    decodeURIComponent(username + password)
  } catch {
    return undefined // a % that escapes nothing: nobody can tell which password is meant
  }
  return search === '' && hash === '' ? address : undefined
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A hundred years: an instant further away than that has no date in JavaScript or Postgres. */
const longestMs = 36_500 * 86_400_000

/** Parses `90s`, `15m`, `24h`, `7d` into milliseconds; undefined when it is none of these, or longer than 36500d. */
export function parseDuration(value: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(value)
  const unit = match?.[2]
  if (match?.[1] === undefined || unit === undefined) return undefined
  const ms = Number(match[1]) * (unitMs[unit] ?? 1)
  return ms <= longestMs ? ms : undefined
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
  if (!/^[A-Za-z]/.test(value)) return undefined // newer Nodes take "+02:00", which Postgres reads the other way round
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

/** Every variable, in the order of the README. */
export const settings = {
  baseUrl: define(
    'API_BASE_URL',
    null,
    'an http(s) address without /v3 and query',
    'root of the API; unset: the sandbox',
    apiAddress,
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
  paging: define('API_PAGING', 'page', either(generalStyles), 'paging style', oneOf(...generalStyles)),
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
  httpsProxy: define(
    'HTTPS_PROXY',
    null,
    'an http(s) address such as http://proxy:3128',
    'proxy to an https API; never for loopback',
    parseProxy,
  ),
  httpProxy: define(
    'HTTP_PROXY',
    null,
    'an http(s) address such as http://proxy:3128',
    'proxy to an http API; never for loopback',
    parseProxy,
  ),
  noProxy: define(
    'NO_PROXY',
    null,
    'hosts, addresses and subnets, or *',
    'APIs that are reached without a proxy',
    text,
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
    'Postgres 14 or newer, encoding UTF8; unset: the embedded one',
    url('postgres:', 'postgresql:'),
  ),
  databaseDirectUrl: define(
    'DATABASE_DIRECT_URL',
    null,
    'a postgres:// address',
    'the same database past a pooler: for migrations, `LISTEN` and the queue on Postgres; unset: DATABASE_URL',
    url('postgres:', 'postgresql:'),
  ),
  redisUrl: define(
    'REDIS_URL',
    null,
    'a redis:// or rediss:// address, with no more behind it than a database number',
    'BullMQ on Redis; unset: on Postgres',
    (v) => {
      const address = url('redis:', 'rediss:')(v)
      return address !== undefined && /^(\/\d*)?$/.test(new URL(address).pathname) ? address : undefined
    },
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
