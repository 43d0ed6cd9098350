// Names of settings: misspelt ones, and their names as options of a program. An unknown name in `.env` or in the file is refused; in the
// environment, which other programs share, only a name very close to one of our settings that is not set. Pure.

import { BoatMirrorError } from '../errors.ts'
import { meant, nearest } from '../near-names.ts'
import { type Setting, settings } from '../settings.ts'
import { fileSections } from './file.ts'

/** Every name that the program reads. */
export const settingNames: readonly string[] = [
  ...Object.values(settings).map(({ name }) => name),
  'BOAT_MIRROR_CONFIG',
]

/** Other names allowed in `.env`: variables of Docker, Postgres, Grafana, Node and OpenTelemetry, and proxies. */
const othersInDotenv = [
  /^(COMPOSE|DOCKER|BUILDKIT|POSTGRES|GRAFANA|GF|NODE|UV|OTEL)_/,
  /^(PG[A-Z]+|TZ)$/,
  /^(http|https|no|all)_proxy$/i,
]

/** Names in the environment that are close to ours: of Kubernetes, Docker and common programs. */
const othersInEnvironment = [
  ...othersInDotenv,
  /_PORT(_|$)|_SERVICE_|^HOSTNAME$/,
  /^(FTP|RSYNC|SOCKS|WSS?)_PROXY$/i,
  /^(APP|AWS|AZURE|CI|GCP|GH|GITHUB|GITLAB|NPM|PYPI)_/,
  /^(API_KEY|DATADIR|DATA_DIRS|LOGLEVEL|TIMEZONE)$/,
]

const matches = (name: string, patterns: readonly RegExp[]): boolean => patterns.some((pattern) => pattern.test(name))

/** One line for each unknown name in `.env`. */
export function unknownNames(names: readonly string[]): readonly string[] {
  return names
    .filter((name) => !settingNames.includes(name) && !matches(name, othersInDotenv))
    .map((name) => `${name} in .env is not a setting${meant(name.toUpperCase(), settingNames)}.`)
}

/**
 * One line for each variable of the environment that is one or two letters from a setting that is not set. Names of
 * four letters (HOST, PORT) have too many neighbours to count as misspelt.
 * @param set names that the environment, `.env` or the file sets, even to nothing
 */
export function misspeltNames(names: readonly string[], set: ReadonlySet<string>): readonly string[] {
  const unset = settingNames.filter((name) => !set.has(name) && name.length > 4)
  return names
    .filter((name) => !settingNames.includes(name) && !matches(name, othersInEnvironment))
    .flatMap((name) => {
      const right = nearest(name, unset)
      if (right === undefined) return []
      return [
        `${name} in the environment is not a setting, and ${right} is not set: rename it, or set ${right} to nothing if ${name} is another program's.`,
      ]
    })
}

type Settings = typeof settings

/** `API_BASE_URL` becomes `apiBaseUrl`. */
type OptionName<N extends string> = N extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<OptionName<Rest>>}`
  : Lowercase<N>

type OptionValue<S> =
  S extends Setting<infer T, string | null>
    ? [T] extends [boolean]
      ? boolean
      : [T] extends [number]
        ? number | string
        : [T] extends [string]
          ? T
          : string
    : never

/** Every setting under its name in camelCase, and the sections of the configuration file. */
export type SettingOptions = {
  readonly [K in keyof Settings as OptionName<Settings[K]['name']>]?: OptionValue<Settings[K]> | undefined
} & {
  readonly schedules?: Readonly<Record<string, string>>
  readonly targets?: Readonly<Record<string, string>>
  readonly lists?: Readonly<Record<string, Readonly<Record<string, string | number>>>>
  readonly privacy?: Readonly<Record<string, 'keep' | 'hash' | 'drop'>>
}

const optionName = (name: string): string =>
  name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/** Rewrites a message about variables into one about options. */
export const withOptionNames = (message: string): string =>
  message.replace(/\b[A-Z_]+\b/g, (name) => (settingNames.includes(name) ? optionName(name) : name))

/** A value as the configuration file would hold it. */
function written(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return Array.isArray(value) ? value : `${value}`
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, written(inner)]))
}

/**
 * Options as the configuration file would hold them.
 * @throws BoatMirrorError CONFIG_INVALID for a name that is no option
 */
export function textsOf(options: SettingOptions): Readonly<Record<string, unknown>> {
  const names = new Map<string, string>([
    ...Object.values(settings).map(({ name }) => [optionName(name), name] as const),
    ...fileSections.map((name) => [name, name] as const),
  ])
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const unknown = given.map(([key]) => key).filter((key) => !names.has(key))
  if (unknown.length > 0)
    throw new BoatMirrorError(
      'CONFIG_INVALID',
      unknown.map((key) => `${key} is not an option${meant(key, [...names.keys()])}.`).join('\n'),
    )
  return Object.fromEntries(given.map(([key, value]) => [names.get(key), written(value)]))
}
