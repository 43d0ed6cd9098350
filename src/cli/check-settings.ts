// Compares found settings with the configured ones: as a finding, as lines, and in the file of `check --write`.

import type { Config } from '../config.ts'
import { authText } from '../profile/search/auth.ts'
import type { Discovery } from '../profile/search/discover.ts'
import type { FoundSetting } from '../profile/search/find-paging.ts'
import { settings } from '../settings.ts'
import { oneLine, shownAddress } from '../text.ts'
import { type Finding, failed, ok, warn } from './findings.ts'
import { addSettings, type Replaced, readSettingsFile, settingLines, variablesOf } from './settings-file.ts'

/** The present value of a setting as a line would have it; undefined: not set, or not in this table. */
function presentValue(
  { api: { auth, paging }, servePageParams, serveSizeParams }: Config,
  name: string,
): string | undefined {
  const values: Readonly<Record<string, string | number | null>> = {
    API_AUTH: authText(auth),
    API_PAGING: paging.style,
    API_PAGE_PARAM: paging.pageParam,
    API_SIZE_PARAM: paging.sizeParam,
    API_PAGE_SIZE: paging.pageSize,
    API_PAGE_BASE: paging.pageBase,
    API_ITEMS_PATH: paging.itemsPath,
    API_NEXT_PATH: paging.nextPath,
    API_TOTAL_PATH: paging.totalPath,
    SERVE_PAGE_PARAMS: servePageParams,
    SERVE_SIZE_PARAMS: serveSizeParams,
  }
  return values[name]?.toString()
}

function isSame(name: string, a: string, b: string): boolean {
  if (name === 'API_AUTH') return a.toLowerCase() === b.toLowerCase()
  return withoutPassword(name, a) === withoutPassword(name, b)
}

/** Settings that a sync detects, or without which it is only slower. */
const convenient = new Set([
  'API_SIZE_PARAM',
  'API_PAGE_SIZE',
  'API_PAGE_BASE',
  'API_TOTAL_PATH',
  'SERVE_PAGE_PARAMS',
  'SERVE_SIZE_PARAMS',
])

/** The finding about the present settings. `written`: they are about to be written as found. */
export function settingsFinding(config: Config, found: Discovery, written: boolean): Finding {
  const name = 'settings'
  if (found.problem !== null) return failed(name, found.problem)
  const other = found.settings.filter(({ name: each, value }) => {
    const present = presentValue(config, each)
    return present === undefined ? each !== 'API_PAGE_BASE' : !isSame(each, present, value)
  })
  const note = found.note === null ? '' : `; ${found.note}`
  const lines = (settings: readonly FoundSetting[]): string =>
    settings.map((each) => `${each.name}=${each.value}`).join(', ')
  if (other.length === 0 || written) return ok(name, `${lines(found.settings)}${note}`)
  const detail = `detected, but not set: ${lines(other)}${note}`
  const remedy = 'Set the lines below, or run: boat-mirror check --write'
  // Where links lead on, page numbers mostly do, too.
  const works = (each: FoundSetting): boolean => convenient.has(each.name) || each.value === 'link'
  return other.every(works) ? warn(name, detail, remedy) : { name, status: 'fail', detail, remedy }
}

/** Settings that decide which API, database and queue a command opens. */
const placeNames = [
  ...['API_BASE_URL', 'API_LANGUAGE', 'DATABASE_URL', 'DATABASE_DIRECT_URL', 'REDIS_URL', 'DATA_DIR', 'TIME_ZONE'],
] as const

/** The settings that a second terminal needs to open the same API and database. `withSecrets`: also the token and passwords. Pure. */
export function placesOf(
  environment: Readonly<Record<string, string | undefined>>,
  withSecrets: boolean,
): readonly FoundSetting[] {
  const names = [...placeNames, ...(withSecrets ? (['API_TOKEN'] as const) : [])]
  return names.flatMap((name): readonly FoundSetting[] => {
    const value = environment[name]?.trim()
    if (!value) return []
    const kept = withSecrets ? value : withoutPassword(name, value)
    const secrets = kept === value ? '' : '; without its password; check --write --with-secrets adds it'
    return [{ name, value: kept, evidence: `as set when check ran${secrets}` }]
  })
}

/** An address without its secrets. The user of a database stays, because it decides what a command sees. */
function withoutPassword(name: string, given: string): string {
  const value = (name.startsWith('DATABASE_') && settings.databaseUrl.parse(given)) || given
  if (!name.endsWith('_URL') || !URL.canParse(value)) return value
  const url = new URL(value)
  const isSecret = url.password !== '' || url.searchParams.has('password') || (name.startsWith('API_') && url.username)
  if (!isSecret) return value
  url.password = ''
  url.searchParams.delete('password')
  if (name.startsWith('API_')) url.username = ''
  return value.endsWith('/') ? url.href : url.href.replace(/\/$/, '')
}

/** A setting with passwords and token masked. */
const shownSetting = <Each extends FoundSetting>(setting: Each): Each => {
  if (setting.name === 'API_TOKEN') return { ...setting, value: '***' }
  return setting.name.endsWith('_URL') ? { ...setting, value: shownAddress(setting.value) } : setting
}

/** A found setting, and what has another value: the environment or the file's name; null: nothing. */
export type SettingToWrite = FoundSetting & { readonly isThere: boolean; readonly contradictedBy: string | null }

/** Compares found settings with a file and with the environment, which takes precedence. Pure. */
export function settingsToWrite(
  found: readonly FoundSetting[],
  file: { readonly name: string; readonly variables: Readonly<Record<string, string>> },
  environment: Readonly<Record<string, string | undefined>>,
): readonly SettingToWrite[] {
  return found.map((setting) => {
    const there = file.variables[setting.name]
    const wins = environment[setting.name] || undefined
    const differs = (value: string | undefined): boolean =>
      value !== undefined && !isSame(setting.name, value, setting.value)
    const contradictedBy = differs(wins) ? 'the environment' : differs(there) ? file.name : null
    // Of two lines the last one counts: an address gets its password by a second one.
    const lacksPassword = there !== setting.value && there === withoutPassword(setting.name, setting.value)
    return { ...setting, isThere: there !== undefined && !lacksPassword, contradictedBy }
  })
}

/** Adds missing settings to the file. @returns all of them, with secrets masked */
export async function writeSettings(
  path: string,
  found: readonly FoundSetting[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly SettingToWrite[]> {
  const variables = variablesOf(await readSettingsFile(path))
  const settings = settingsToWrite(found, { name: path, variables }, environment)
  await addSettings(
    path,
    settings.filter(({ isThere }) => !isThere),
  )
  return settings.map(shownSetting)
}

export const linesText = (found: readonly FoundSetting[]): string => `Lines to set:\n${settingLines(found).join('\n')}`

/** Lists what was written, and what has another value elsewhere. */
export function writtenText(path: string, settings: readonly SettingToWrite[]): string {
  const added = settings.filter(({ isThere }) => !isThere)
  const against = settings.filter(({ contradictedBy }) => contradictedBy !== null)
  return [
    added.length === 0 ? `Nothing to add to ${path}.` : `Added to ${path}:\n${settingLines(added).join('\n')}`,
    ...against.map(againstText),
  ].join('\n')
}

export function againstText(setting: SettingToWrite): string {
  const { name, value, contradictedBy } = shownSetting(setting)
  return `${name} has another value in ${contradictedBy}; detected: ${value}. Change or remove it there.`
}

/** Lists what was added to a file and what was replaced in it, with secrets masked. */
export function replacedText(path: string, settings: readonly Replaced[]): string {
  if (settings.length === 0) return `${path} already holds these settings.`
  const lines = settings.map((setting) => {
    const before = setting.before === null ? null : shownSetting({ ...setting, value: setting.before }).value
    const line = `${setting.name}=${oneLine(shownSetting(setting).value)}`
    return { isNew: before === null, line: before === null ? line : `${line} (was ${oneLine(before)})` }
  })
  const part = (title: string, isNew: boolean): readonly string[] => {
    const of = lines.filter((each) => each.isNew === isNew).map(({ line }) => line)
    return of.length === 0 ? [] : [[`${title} ${path}:`, ...of].join('\n')]
  }
  return [...part('Added to', true), ...part('Replaced in', false)].join('\n')
}
