// Names of settings, and the likely meaning of a misspelt one. An unknown name in `.env` or in the file is refused;
// in the environment, which is shared with other programs, only a name very close to one of our settings that is not
// set. Pure.

import { meant, nearest } from '../near-names.ts'
import { settings } from '../settings.ts'

/** Every name that the program reads itself. */
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

/** What is near one of our names and another's in the environment: what Kubernetes and Docker make, and programs at large. */
const othersInEnvironment = [
  ...othersInDotenv,
  /_PORT(_|$)|_SERVICE_|^HOSTNAME$/,
  /^(FTP|RSYNC|SOCKS|WSS?)_PROXY$/i,
  /^(APP|AWS|AZURE|CI|GCP|GH|GITHUB|GITLAB|NPM|PYPI)_/,
  /^(API_KEY|DATADIR|DATA_DIRS|LOGLEVEL|TIMEZONE)$/,
]

const matches = (name: string, patterns: readonly RegExp[]): boolean => patterns.some((pattern) => pattern.test(name))

/** One line for each name in `.env` that neither we nor another known program reads. */
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
