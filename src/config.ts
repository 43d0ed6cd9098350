// Reads the settings (settings.ts is the table). Precedence: environment, then .env, then the file named by
// BOAT_MIRROR_CONFIG, then the default (design, section 4).

import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { config as readDotenv } from 'dotenv'
import { parseDocument } from 'yaml'
import { BoatMirrorError } from './errors.ts'
import { type AuthSetting, oneOf, parseDuration, type Setting, settings } from './settings.ts'

export type { AuthSetting } from './settings.ts'

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

type SettingKey = keyof typeof settings
type ParsedSettings = { [K in SettingKey]: Exclude<ReturnType<(typeof settings)[K]['parse']>, undefined> | null }

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** At most so much of a value or name is repeated in a message. */
const shownLength = 100

/** A setting's value without what must not be shown: passwords in addresses, and the secrets as a whole. */
function shown(name: string, value: string): string {
  // A secret may have been given as the way to send it.
  const isSecret =
    name === 'API_TOKEN' || name === 'ADMIN_TOKEN' || (name === 'API_AUTH' && !/^\w{1,8}(:|$)/.test(value))
  if (isSecret) return 'a value that is not shown'
  return JSON.stringify(withoutSecret(name, value).slice(0, shownLength))
}

function withoutSecret(name: string, value: string): string {
  if (name === 'API_AUTH') return value.replace(/:.*/s, ':…')
  if (!name.endsWith('_URL')) return value
  // A password may hold @, / and ?, and stand in the query as well.
  return value.replace(/^([a-z][a-z0-9+.-]*:?\/*)?.*@/is, '$1***@').replace(/\?.*/s, '?…')
}

/** A name from the file, on one line. */
const label = (name: string): string =>
  /^[\w.-]{1,60}$/.test(name) ? name : JSON.stringify(name.slice(0, shownLength))

/** A value from the file as a message repeats it. */
const given = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, shownLength)) : Array.isArray(value) ? 'a list' : 'a map'

function readFile(env: Readonly<Record<string, string | undefined>>, cwd: string): Record<string, unknown> {
  const named = env.BOAT_MIRROR_CONFIG || undefined
  const path = resolve(cwd, named ?? 'boat-mirror.yaml')
  if (!existsSync(path)) {
    if (named === undefined) return {}
    throw new BoatMirrorError('CONFIG_INVALID', `BOAT_MIRROR_CONFIG names ${label(named)}, and there is no such file.`)
  }
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new BoatMirrorError('CONFIG_INVALID', `${path} can't be read.`, { cause })
  }
  const parsed = parseYaml(text, path)
  if (parsed === null || parsed === '') return {}
  if (!isRecord(parsed)) throw new BoatMirrorError('CONFIG_INVALID', `${path} must hold names and values.`)
  return parsed
}

/** Names, lists and texts: each value is what was written (YAML's failsafe schema), so that no digit of a secret is lost. */
function parseYaml(text: string, path: string): unknown {
  const document = parseDocument(text, { schema: 'failsafe', logLevel: 'silent' })
  // The parser's own message quotes the file, which may hold secrets.
  const [problem] = [...document.errors, ...document.warnings]
  const at = problem?.linePos?.[0]
  const refused = (cause: unknown): BoatMirrorError =>
    new BoatMirrorError(
      'CONFIG_INVALID',
      `${path} is not valid YAML${at === undefined ? '' : ` at line ${at.line}, column ${at.col}`}.`,
      { cause },
    )
  if (problem !== undefined) throw refused(problem)
  try {
    return document.toJS()
  } catch (cause) {
    throw refused(cause) // an alias that stands for nothing, or unfolds without end
  }
}

const fileSections = ['schedules', 'targets', 'lists']

/** A value that YAML takes for none. */
const isUnset = (value: unknown): boolean => value === undefined || value === '' || value === '~' || value === 'null'

function durations(section: unknown, name: string, problems: string[]): Record<string, number> {
  if (isUnset(section)) return {}
  if (!isRecord(section)) {
    problems.push(`${name} in the file is ${given(section)}; it takes stream names with durations such as 15m.`)
    return {}
  }
  const entries: [string, number][] = []
  for (const [stream, value] of Object.entries(section)) {
    const ms = value === 'false' || value === 'off' ? 0 : typeof value === 'string' ? parseDuration(value) : undefined
    if (ms === undefined)
      problems.push(`${name}.${label(stream)} is ${given(value)}; it takes a duration such as 15m, or off.`)
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
/** A list may also have no pages at all, which is nothing to say of all lists. */
const listStyle = {
  takes: 'page, offset, cursor, link or none',
  parse: oneOf('page', 'offset', 'cursor', 'link', 'none'),
}

function lists(section: unknown, problems: string[]): Record<string, Partial<PagingSettings>> {
  if (isUnset(section)) return {}
  if (!isRecord(section)) {
    problems.push(`lists in the file is ${given(section)}; it takes stream names with paging settings.`)
    return {}
  }
  const result: [string, Partial<PagingSettings>][] = []
  for (const [stream, raw] of Object.entries(section)) {
    if (!isRecord(raw)) {
      problems.push(`lists.${label(stream)} is ${given(raw)}; it takes settings such as {paging: page}.`)
      continue
    }
    const entry: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(raw)) {
      const target = Object.hasOwn(listKeys, key) ? listKeys[key] : undefined
      const setting = target === undefined ? undefined : target === 'style' ? listStyle : settings[target]
      const parsed = typeof value === 'string' ? setting?.parse(value) : undefined
      const known =
        setting === undefined ? `known are ${Object.keys(listKeys).join(', ')}` : `it takes ${setting.takes}`
      if (target === undefined || parsed === undefined)
        problems.push(`lists.${label(stream)}.${label(key)} is ${given(value)}; ${known}.`)
      else entry[target] = parsed
    }
    result.push([stream, entry as Partial<PagingSettings>])
  }
  return Object.fromEntries(result)
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
  for (const key of Object.keys(file)) if (!names.has(key)) problems.push(`${label(key)} in the file is not a setting.`)

  const read = (setting: Setting<unknown>): unknown => {
    const written = isUnset(file[setting.name]) ? undefined : file[setting.name]
    const value = env[setting.name] || written || setting.fallback
    if (value === null) return null
    const parsed = typeof value === 'string' ? setting.parse(value.trim()) : undefined
    if (parsed === undefined) {
      const got = typeof value === 'string' ? shown(setting.name, value) : given(value)
      problems.push(`${setting.name} is ${got}; it takes ${setting.takes}.`)
    }
    return parsed ?? null
  }
  const value = Object.fromEntries(
    Object.entries(settings).map(([key, setting]) => [key, read(setting as Setting<unknown>)]),
  ) as ParsedSettings

  const loopback = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/
  if (value.host !== null && !loopback.test(value.host) && value.adminToken === null)
    problems.push(
      `HOST is ${shown('HOST', value.host)}, which is not loopback: set ADMIN_TOKEN (at least 16 characters) as well.`,
    )
  if (value.baseUrl !== null && value.auth !== null && value.auth.kind !== 'none' && value.token === null)
    problems.push(`API_TOKEN is not set, and API_AUTH is ${value.auth.kind}: set API_TOKEN, or API_AUTH=none.`)
  if (value.auth?.kind === 'basic' && value.token !== null && !value.token.includes(':'))
    problems.push('API_TOKEN must be user:password, because API_AUTH is basic.')
  if ((value.auth?.kind === 'bearer' || value.auth?.kind === 'header') && /[^\t\x20-\x7e]/.test(value.token ?? ''))
    problems.push(
      `API_TOKEN holds a character that no header can carry, and API_AUTH is ${value.auth.kind}; it takes printable ASCII.`,
    )

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
