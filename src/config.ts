// Reads the settings (settings.ts is the table). Precedence: environment, then .env, then the file named by
// BOAT_MIRROR_CONFIG, then the default.

import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse as parseDotenv } from 'dotenv'
import {
  durations,
  fileSections,
  given,
  isUnset,
  label,
  lists,
  type PagingSettings,
  type PersonalDataAction,
  privacy,
  readFile,
  shownLength,
} from './config/file.ts'
import {
  misspeltNames,
  type SettingOptions,
  settingNames,
  textsOf,
  unknownNames,
  withOptionNames,
} from './config/names.ts'
import { BoatMirrorError, unreadableFile } from './errors.ts'
import { meant } from './near-names.ts'
import { type PagingStyle, type Setting, settings, usualParams } from './settings.ts'
import { shownAddress, shownReceiver } from './text.ts'

export type { PagingSettings } from './config/file.ts'
export type { SettingOptions } from './config/names.ts'
export type { AuthSetting, PagingStyle, Quota } from './settings.ts'

/** Proxies to the API, by the scheme of its address. */
export type ProxySettings = {
  readonly https: string | null
  readonly http: string | null
  /** NO_PROXY. */
  readonly except: string | null
}

type Settings = typeof settings
type Value<S> = S extends Setting<infer T, string | null> ? T : never
/** null: not set, or wrong and reported. */
type ParsedSettings = { [K in keyof Settings]: Value<Settings[K]> | null }
/** With nothing wrong: null only where there is no default. */
type SettingValues = {
  readonly [K in keyof Settings]: Value<Settings[K]> | (Settings[K]['fallback'] extends string ? never : null)
}

/** Settings of the API that are members of `api` under their own names. */
type ApiKey =
  | 'baseUrl'
  | 'token'
  | 'auth'
  | 'language'
  | 'rateLimit'
  | 'quota'
  | 'concurrency'
  | 'timeoutMs'
  | 'referenceAsNumber'
type ProxyKey = 'httpsProxy' | 'httpProxy' | 'noProxy'

/** How the API is called; see settings.ts. */
export type ApiSettings = Pick<SettingValues, ApiKey> & {
  readonly paging: PagingSettings
  /** Per-list exceptions, by stream name. */
  readonly lists: Readonly<Record<string, Partial<PagingSettings>>>
  readonly proxies: ProxySettings
}

/** Every setting's value under its name in settings.ts; those of the API in `api`. */
export type Config = Omit<SettingValues, ApiKey | ProxyKey | 'paging' | keyof PagingSettings> & {
  readonly api: ApiSettings
  /** Intervals by stream that replace the default ones, in milliseconds; 0: not scheduled. */
  readonly schedules: Readonly<Record<string, number>>
  /** Per-stream freshness targets in milliseconds. */
  readonly targets: Readonly<Record<string, number>>
  /** The treatment of single personal columns, by `table.column`; others follow PERSONAL_DATA. */
  readonly privacy: Readonly<Record<string, PersonalDataAction>>
}

/** A setting's value without passwords and secrets. */
function shown(name: string, value: string): string {
  // The value of API_AUTH may be the secret by mistake.
  const isSecret =
    ['API_TOKEN', 'ADMIN_TOKEN', 'WEBHOOK_SECRET', 'PERSONAL_DATA_KEY'].includes(name) ||
    (name === 'API_AUTH' && !/^\w{1,8}(:|$)/.test(value))
  if (isSecret) return 'a value that is not shown'
  if (name === 'WEBHOOK_URL' || name === 'ALERT_URL') return shownReceiver(value) ?? 'a value that is not shown'
  const plain =
    name === 'API_AUTH' ? value.replace(/:.*/s, ':…') : /_(URL|PROXY)$/.test(name) ? shownAddress(value) : value
  return JSON.stringify(plain.slice(0, shownLength))
}

/** The variables of `.env` and of the process, which take precedence. `inDotenv`: the names in `.env`. @throws BoatMirrorError CONFIG_INVALID */
export function readEnvironment(cwd = process.cwd()): { environment: Environment; inDotenv: readonly string[] } {
  const fromFile = readDotenv(resolve(cwd, '.env'))
  return { environment: { ...fromFile, ...process.env }, inDotenv: Object.keys(fromFile) }
}

function readDotenv(path: string): Readonly<Record<string, string>> {
  if (!existsSync(path)) return {}
  try {
    return parseDotenv(readFileSync(path))
  } catch (cause) {
    throw unreadableFile(path, cause)
  }
}

/** Turns user and password of API_BASE_URL into Basic authentication. The address is shown and stored without them. */
function takeLogin(value: ParsedSettings, authGiven: boolean, problems: string[]): ParsedSettings {
  const url = value.baseUrl === null ? null : new URL(value.baseUrl)
  if (url === null || (url.username === '' && url.password === '')) return value
  if (value.token !== null || (authGiven && value.auth?.kind !== 'basic'))
    problems.push(
      'API_BASE_URL has a user and password, but API_TOKEN or API_AUTH sets other credentials. Remove the user and password from the address.',
    )
  const token = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  url.username = ''
  url.password = ''
  return { ...value, baseUrl: url.href.replace(/\/+$/, ''), token, auth: { kind: 'basic' } }
}

type Environment = Readonly<Record<string, string | undefined>>

/** Names of the settings that are set. */
export function givenNames(env: Environment, cwd = process.cwd()): ReadonlySet<string> {
  const file = Object.entries(readFile(env, cwd)).filter(([, value]) => !isUnset(value))
  return new Set([...Object.keys(env).filter((name) => env[name]), ...file.map(([name]) => name)])
}

type Reading = {
  /** API_TOKEN may be missing; {@link assertToken} checks it before calls. */
  readonly tokenOptional: boolean
  /** Names in `.env`, of which unknown ones are refused. */
  readonly inDotenv?: readonly string[]
  /** What is wrong with the names of streams, which only the catalog knows. */
  readonly problemsOf?: (named: NamedStreams) => readonly string[]
}

export type NamedStreams = Pick<Config, 'schedules' | 'targets' | 'webhookStreams'> & Pick<ApiSettings, 'lists'>

const strict: Reading = { tokenOptional: false }

/**
 * Reads every setting. An empty variable counts as unset.
 * @throws BoatMirrorError CONFIG_INVALID with one line per wrong value: the variable, what it got, what it takes.
 */
export function readConfig(env: Environment, cwd = process.cwd(), reading = strict): Config {
  return configFrom(env, readFile(env, cwd), cwd, reading)
}

/** The problem of missing credentials; null: there is none. */
function missingToken({ baseUrl, auth, token }: Pick<ParsedSettings, 'baseUrl' | 'auth' | 'token'>): string | null {
  if (baseUrl === null || auth === null || auth.kind === 'none' || token !== null) return null
  return `API_TOKEN is not set, but API_AUTH is ${auth.kind}. Set API_TOKEN, or API_AUTH=none.`
}

/** Called before requests to the API. @throws BoatMirrorError CONFIG_INVALID when API_TOKEN is missing */
export function assertToken({ api }: Pick<Config, 'api'>): void {
  const problem = missingToken(api)
  if (problem === null) return
  throw new BoatMirrorError('CONFIG_INVALID', problem, {
    remedy: 'Run `boat-mirror check` to find out whether the API requires a token, and how to send it.',
  })
}

/**
 * The settings of a program, without environment and files.
 * @throws BoatMirrorError CONFIG_INVALID with one line per wrong value, each under its name as an option.
 */
export function readOptions(options: SettingOptions, problemsOf: Reading['problemsOf'] = () => []): Config {
  try {
    return configFrom({}, textsOf(options), process.cwd(), { ...strict, problemsOf })
  } catch (error) {
    if (!(error instanceof BoatMirrorError)) throw error
    throw new BoatMirrorError(error.code, withOptionNames(error.message), { cause: error })
  }
}

function configFrom(
  env: Environment,
  file: Readonly<Record<string, unknown>>,
  cwd: string,
  { tokenOptional, inDotenv = [], problemsOf = () => [] }: Reading,
): Config {
  const unknown = unknownNames(inDotenv)
  const problems = [...unknown]
  const names = [...settingNames, ...fileSections]
  for (const key of Object.keys(file))
    if (!names.includes(key)) problems.push(`${label(key)} in the file is not a setting${meant(key, names)}.`)
  problems.push(
    ...misspeltNames(
      Object.keys(env).filter((name) => !inDotenv.includes(name)),
      new Set([...Object.keys(env), ...Object.keys(file)]),
    ),
  )

  const read = (setting: Setting<unknown>): unknown => {
    const written = isUnset(file[setting.name]) ? undefined : file[setting.name]
    // The lower case spelling of a proxy takes precedence, as in other programs.
    const lower = setting.name.endsWith('_PROXY') ? env[setting.name.toLowerCase()] : undefined
    const value = lower || env[setting.name] || written || setting.fallback
    if (value === null) return null
    const parsed = typeof value === 'string' ? setting.parse(value.trim()) : undefined
    if (parsed === undefined) {
      const got = typeof value === 'string' ? shown(setting.name, value) : given(value)
      problems.push(`${setting.name} is ${got}. It must be ${setting.takes}.`)
    }
    return parsed ?? null
  }
  const parsed = Object.fromEntries(
    Object.entries(settings).map(([key, setting]) => [key, read(setting as Setting<unknown>)]),
  ) as ParsedSettings
  const value = takeLogin(parsed, Boolean(env.API_AUTH) || !isUnset(file.API_AUTH), problems)

  if (value.databaseDirectUrl !== null && value.databaseUrl === null)
    problems.push('DATABASE_DIRECT_URL is set, but DATABASE_URL is not. Set both: they must lead to the same database.')
  const missing = missingToken(value)
  if (missing !== null && !tokenOptional) problems.push(missing)
  if (value.auth?.kind === 'basic' && value.token !== null && !value.token.includes(':'))
    problems.push('API_TOKEN must be user:password, because API_AUTH is basic.')
  if ((value.auth?.kind === 'bearer' || value.auth?.kind === 'header') && /[^\t\x20-\x7e]/.test(value.token ?? ''))
    problems.push(
      `API_TOKEN has a character that a header cannot carry, and API_AUTH is ${value.auth.kind}. It must be printable ASCII.`,
    )

  if (value.webhookUrl !== null && value.webhookSecrets === null)
    problems.push(
      'WEBHOOK_URL is set, but WEBHOOK_SECRET is not. The receiver needs it to verify calls. Generate one: echo "whsec_$(openssl rand -base64 32)"',
    )

  const fromFile = {
    schedules: durations(file.schedules, 'schedules', problems),
    targets: durations(file.targets, 'targets', problems),
    lists: lists(file.lists, problems),
    privacy: privacy(file.privacy, 'privacy', problems),
  }
  problems.push(...problemsOf({ ...fromFile, webhookStreams: value.webhookStreams }))
  if (problems.length > 0)
    throw new BoatMirrorError('CONFIG_INVALID', problems.join('\n'), {
      ...(unknown.length > 0 && { remedy: 'docs/configuration.md lists every setting.' }),
    })
  const complete = value as SettingValues
  return assemble({ ...complete, dataDir: resolve(cwd, complete.dataDir) }, fromFile)
}

type FileSettings = Pick<Config, 'schedules' | 'targets' | 'privacy'> & Pick<ApiSettings, 'lists'>

function assemble(settings: SettingValues, { schedules, targets, lists, privacy }: FileSettings): Config {
  const {
    paging: style,
    pageParam: page,
    sizeParam: size,
    pageSize,
    pageBase,
    itemsPath,
    nextPath,
    totalPath,
    ...some
  } = settings
  const { httpsProxy: https, httpProxy: http, noProxy: except, ...more } = some
  const { baseUrl, token, auth, language, rateLimit, quota, ...rest } = more
  const { concurrency, timeoutMs, referenceAsNumber, ...others } = rest
  const named = (of: PagingStyle): Pick<PagingSettings, 'pageParam' | 'sizeParam'> => ({
    pageParam: page ?? usualParams[of].page,
    sizeParam: size ?? usualParams[of].size,
  })
  const paging = { style, ...named(style), pageSize, pageBase, itemsPath, nextPath, totalPath }
  const listed = Object.entries(lists).map(([name, own]) => [
    name,
    own.style === undefined ? own : { ...named(own.style), ...own },
  ])
  const call = { baseUrl, token, auth, language, rateLimit, quota, concurrency, timeoutMs, referenceAsNumber }
  return {
    ...others,
    schedules,
    targets,
    privacy,
    api: { ...call, paging, lists: Object.fromEntries(listed), proxies: { https, http, except } },
  }
}
