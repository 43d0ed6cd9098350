// The settings as data: one table with name, default, parser and meaning. The tables of docs/configuration.md and every
// error message come from it; config.ts reads the values.

import {
  parseApiAddress,
  parseListen,
  parsePostgresAddress,
  parseProxy,
  parseReceiver,
  parseRedisAddress,
  parseSigningSecrets,
} from './addresses.ts'

export type AuthSetting =
  | { readonly kind: 'bearer' | 'basic' | 'none' }
  | { readonly kind: 'header' | 'query'; readonly name: string }

/** The paging styles (src/api/paging has a module for each); `none`, without pages, is only for single lists. */
export const pagingStyles = ['page', 'offset', 'cursor', 'link', 'none'] as const
export type PagingStyle = (typeof pagingStyles)[number]
const generalStyles = pagingStyles.filter((style) => style !== 'none')

/** The usual parameter names of each style; `page` and `perPage` are the documented ones (docs/sources.md). */
export const usualParams: Readonly<Record<PagingStyle, { readonly page: string; readonly size: string }>> = {
  page: { page: 'page', size: 'perPage' },
  offset: { page: 'offset', size: 'limit' },
  cursor: { page: 'cursor', size: 'limit' },
  link: { page: 'page', size: 'perPage' },
  none: { page: 'page', size: 'perPage' },
}

/** The values of a setting: `takes` completes "It must be …", `parse` returns undefined for an invalid text. */
type Values<T> = { readonly takes: string; readonly parse: (text: string) => T | undefined }

/** A setting as the documents show it; a `fallback` of null: no default. */
export type Setting<T, F extends string | null = string | null> = Values<T> & {
  readonly name: string
  readonly fallback: F
  readonly meaning: string
}

const text = (takes: string): Values<string> => ({ takes, parse: (value) => value || undefined })

/** A text that a pattern accepts. */
const matching = (takes: string, pattern: RegExp): Values<string> => ({
  takes,
  parse: (value) => (pattern.test(value) ? value : undefined),
})

const whole = (min: number, max: number, what = 'a whole number'): Values<number> => ({
  takes: `${what} from ${min} to ${max}`,
  parse: (value) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
    return number >= min && number <= max ? number : undefined
  },
})

/** One of these texts. */
export const oneOf = <const T extends string>(allowed: readonly T[]): Values<T> => ({
  takes: `${allowed.slice(0, -1).join(', ')} or ${allowed.at(-1)}`,
  parse: (value) => allowed.find((item) => item === value),
})

const onOff: Values<boolean> = {
  takes: 'on or off',
  parse: (value) => (value === 'on' ? true : value === 'off' ? false : undefined),
}

const postgresAddress = {
  takes:
    'a postgres:// address of one host, with sslmode disable, allow, prefer, require, verify-ca, verify-full or no-verify',
  parse: parsePostgresAddress,
}
const proxy: Values<string> = { takes: 'an http(s) address, for example http://proxy:3128', parse: parseProxy }

/** Requests within any hour, any 24 hours, and a calendar month in UTC; null: that window has no quota. */
export type Quota = { readonly hour: number | null; readonly day: number | null; readonly month: number | null }

const quotaWindows = ['hour', 'day', 'month'] as const
export type QuotaWindow = (typeof quotaWindows)[number]

/** A tenth of fewer would be nothing; more do not fit the column. */
const [fewestOfQuota, mostOfQuota] = [10, 1_000_000_000]

/** Parses `5000/hour,200000/day,500000/month`: any of the windows, each once. */
export function parseQuota(value: string): Quota | undefined {
  const quota: Record<QuotaWindow, number | null> = { hour: null, day: null, month: null }
  for (const part of value.split(',')) {
    const match = /^\s*(\d{1,10})\s*\/\s*(hour|day|month)\s*$/.exec(part)
    const window = quotaWindows.find((name) => name === match?.[2])
    const requests = Number(match?.[1])
    if (window === undefined || quota[window] !== null) return undefined
    if (requests < fewestOfQuota || requests > mostOfQuota) return undefined
    quota[window] = requests
  }
  return quota
}

/** Several texts, separated by commas, each once. */
const manyOf = (what: string, each: RegExp): Values<readonly string[]> => ({
  takes: `${what}, separated by commas`,
  parse: (value) => {
    const texts = value.split(',').map((text) => text.trim())
    return texts.every((text) => each.test(text)) ? [...new Set(texts)] : undefined
  },
})

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A hundred years: dates of JavaScript and Postgres have limits. */
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

const define = <const N extends string, T, F extends string | null>(
  name: N,
  fallback: F,
  values: Values<T>,
  meaning: string,
): Setting<T, F> & { readonly name: N } => ({ name, fallback, meaning, ...values })

const aDuration = { takes: 'a duration such as 90s, 15m, 24h or 7d', parse: parseDuration }
const secret = matching('at least 16 characters', /^.{16,}$/s)
const parameters = matching('query parameter names, separated by commas', /^[^\s,]+(,[^\s,]+)*$/)
const auth = { takes: 'bearer, basic, header:NAME, query:NAME or none', parse: parseAuth }
const zone = { takes: 'an IANA zone such as Europe/Paris, no abbreviation such as CET', parse: parseTimeZone }
const redisAddress = {
  takes: 'a redis:// or rediss:// address, followed at most by a database number',
  parse: parseRedisAddress,
}
const receiver = {
  takes: 'an https:// address without user, password and #; http:// only for this machine or a name without a dot',
  parse: parseReceiver,
}
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Every variable, in the order in which messages name them. */
export const settings = {
  baseUrl: define(
    'API_BASE_URL',
    null,
    { takes: 'an http(s) address without /v3 and query', parse: parseApiAddress },
    'root address of the API; unset: the built-in sandbox',
  ),
  token: define('API_TOKEN', null, text('any text'), 'secret that the API expects'),
  auth: define('API_AUTH', 'bearer', auth, 'how API_TOKEN is sent'),
  language: define(
    'API_LANGUAGE',
    null,
    matching('a language, for example fr', /^[A-Za-z0-9,;=.* -]+$/),
    'sent as Accept-Language',
  ),
  paging: define('API_PAGING', 'page', oneOf(generalStyles), 'paging style'),
  pageParam: define(
    'API_PAGE_PARAM',
    null,
    text('a query parameter name'),
    'parameter that selects the page, offset or cursor; unset: `page`, `offset` or `cursor`, depending on API_PAGING',
  ),
  sizeParam: define(
    'API_SIZE_PARAM',
    null,
    text('a query parameter name'),
    'parameter for the number of records per page; unset: `perPage`, or `limit` with offsets and cursors',
  ),
  pageSize: define('API_PAGE_SIZE', '100', whole(1, 10_000), 'number of records to request per page'),
  pageBase: define(
    'API_PAGE_BASE',
    null,
    { ...whole(0, 1), takes: '0 or 1' },
    'number of the first page; unset: detected',
  ),
  itemsPath: define(
    'API_ITEMS_PATH',
    null,
    text('a dotted path, for example data.items'),
    'where an answer has its records; unset: detected',
  ),
  nextPath: define(
    'API_NEXT_PATH',
    null,
    text('a dotted path, for example meta.nextCursor, or none'),
    'where an answer has the next cursor or link; unset: detected; `none`: ignore what answers say about a next page',
  ),
  totalPath: define(
    'API_TOTAL_PATH',
    null,
    text('a dotted path, header:NAME, or none'),
    'where an answer has the total; unset: detected; `none`: ignore what answers say about a total',
  ),
  rateLimit: define(
    'API_RATE_LIMIT',
    null,
    whole(0, 100_000),
    'requests per second of all workers together; unset: 10, or 0 (no limit) with the sandbox',
  ),
  quota: define(
    'API_QUOTA',
    null,
    {
      takes: `requests per hour, day and month, for example 5000/hour,200000/day,500000/month: one or more of them, each at least ${fewestOfQuota}`,
      parse: parseQuota,
    },
    'requests that the API allows all workers and commands together in any hour, any 24 hours, and a calendar month in UTC; unset: no quota',
  ),
  concurrency: define('API_CONCURRENCY', '8', whole(1, 256), 'requests in flight per process'),
  timeoutMs: define('API_TIMEOUT_MS', '30000', whole(100, 600_000, 'milliseconds'), 'time limit of one request'),
  httpsProxy: define('HTTPS_PROXY', null, proxy, 'proxy for an https API; not used for loopback'),
  httpProxy: define('HTTP_PROXY', null, proxy, 'proxy for an http API; not used for loopback'),
  noProxy: define('NO_PROXY', null, text('hosts, addresses and subnets, or *'), 'hosts to reach without a proxy'),
  // A new rental's `referenceId` (docs/sources.md, differences).
  referenceAsNumber: define(
    'API_REFERENCE_AS_NUMBER',
    'off',
    onOff,
    'on: send `referenceId` as a number when a rental is created',
  ),
  databaseUrl: define(
    'DATABASE_URL',
    null,
    postgresAddress,
    'Postgres 14 or newer, encoding UTF8; unset: the embedded Postgres',
  ),
  databaseDirectUrl: define(
    'DATABASE_DIRECT_URL',
    null,
    postgresAddress,
    'the same database without a pooler in between, for migrations, `LISTEN` and the queue on Postgres; unset: DATABASE_URL',
  ),
  redisUrl: define('REDIS_URL', null, redisAddress, 'Redis for the queue; unset: the queue is on Postgres'),
  autoMigrate: define('AUTO_MIGRATE', 'on', onOff, 'on: `worker`, `sync` and `push` migrate the database first'),
  dataDir: define('DATA_DIR', '.boat-mirror', text('a folder'), 'folder for the embedded database'),
  host: define(
    'HOST',
    '127.0.0.1',
    text('an address to listen on'),
    'address of the operator pages; anything but loopback requires ADMIN_TOKEN',
  ),
  port: define('PORT', '8484', whole(0, 65_535, 'a port'), 'port of the operator pages'),
  adminToken: define('ADMIN_TOKEN', null, secret, 'secret that opens the operator pages'),
  serve: define('SERVE', 'off', onOff, 'on: `worker` also serves the API from the mirror, as `serve` does'),
  serveListen: define(
    'SERVE_LISTEN',
    '127.0.0.1:8585',
    { takes: 'an address and a port such as 127.0.0.1:8585', parse: parseListen },
    'address and port where the API is served; beyond loopback every request needs a token',
  ),
  serveWaitMs: define('SERVE_WAIT', '20s', aDuration, 'how long a served write waits for the answer of the API'),
  serveFreshLimit: define(
    'SERVE_FRESH_LIMIT',
    '60',
    whole(0, 100_000, 'reads per minute'),
    'reads per minute that each token may pass on to the API',
  ),
  serveRateLimit: define(
    'SERVE_RATE_LIMIT',
    null,
    whole(1, 100_000, 'requests per second'),
    'requests per second allowed to each token; unset: no limit',
  ),
  servePageParams: define(
    'SERVE_PAGE_PARAMS',
    null,
    parameters,
    'other names that the API takes for API_PAGE_PARAM: `serve` takes them, too',
  ),
  serveSizeParams: define(
    'SERVE_SIZE_PARAMS',
    null,
    parameters,
    'other names that the API takes for API_SIZE_PARAM: `serve` takes them, too',
  ),
  // The value is a share from 0 to 1.
  deleteLimit: define(
    'DELETE_LIMIT',
    '10%',
    { takes: 'a share such as 10%', parse: parseShare },
    'share of a stream that may be deleted within 24 hours without your decision',
  ),
  timeZone: define('TIME_ZONE', 'UTC', zone, 'zone of "today", and of date-times without an offset'),
  notTakingPlace: define(
    'NOT_TAKING_PLACE',
    null,
    manyOf('statuses of rentals', /./),
    'statuses of rentals that do not take place, besides PENDING and all that begin with CANCELED',
  ),
  detailMaxAgeMs: define('DETAIL_MAX_AGE', '24h', aDuration, 'age at which unchanged details are read again'),
  hotWindowMs: define(
    'HOT_WINDOW',
    '60d',
    aDuration,
    '`worker` lists rentals that depart within this time, or departed within the last seven days, every minute',
  ),
  readEconomy: define(
    'READ_ECONOMY',
    'on',
    onOff,
    'on: detail requests that only repeat list data are skipped and sampled; off: everything is read',
  ),
  historyDays: define(
    'HISTORY_DAYS',
    '400',
    whole(1, 36_500, 'days'),
    'days to keep the change log, runs, settled changes and past calendar days',
  ),
  outboxLimit: define(
    'OUTBOX_LIMIT',
    null,
    whole(1, 1_000_000, 'open changes'),
    'unsettled changes that a role may have in the outbox; unset: no limit',
  ),
  personalData: define(
    'PERSONAL_DATA',
    'keep',
    oneOf(['keep', 'hash', 'drop']),
    'what to store of personal columns: values, hashes or nothing (docs/security.md); `privacy` in the configuration file overrides it per column',
  ),
  personalDataKey: define('PERSONAL_DATA_KEY', null, secret, 'secret for the hashes of personal data'),
  mirrorDocuments: define('MIRROR_DOCUMENTS', 'on', onOff, 'off: do not read identity and license documents'),
  calendarYears: define(
    'CALENDAR_YEARS',
    '2',
    whole(0, 10, 'years'),
    'calendars: how many years to read, starting with this one',
  ),
  priceDays: define('PRICE_DAYS', '90', whole(0, 730, 'days'), 'price tables: days to read, from today'),
  slotDays: define(
    'SLOT_DAYS',
    '3',
    whole(0, 366, 'days'),
    'slots and availability: days to read, from today; 0: none',
  ),
  slotDurations: define(
    'SLOT_DURATIONS',
    '1',
    whole(0, 50),
    'slots and availability: how many durations of each resource to read, starting with its first',
  ),
  webhookUrl: define('WEBHOOK_URL', null, receiver, 'secret; `worker` posts the changes of the mirror to this address'),
  webhookSecrets: define(
    'WEBHOOK_SECRET',
    null,
    {
      takes: 'whsec_ and 24 to 64 bytes in base64, or several of these, separated by spaces',
      parse: parseSigningSecrets,
    },
    'signs each call, in the format of Standard Webhooks; give several during a rotation: each signs',
  ),
  webhookStreams: define(
    'WEBHOOK_STREAMS',
    null,
    manyOf('names of streams', /^[a-z][a-z0-9_]*$/),
    'streams to post, with their personal columns; unset: all except documents, without personal columns',
  ),
  alertUrl: define(
    'ALERT_URL',
    null,
    receiver,
    'secret; `worker` posts a message to this address when something starts to need your attention, and when that ends',
  ),
  logLevel: define('LOG_LEVEL', 'info', oneOf(logLevels), 'lowest level to log'),
}
