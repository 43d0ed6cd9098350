// What a search found against what is set: as a finding, as lines, and in the file that `check --write` adds them to.

import type { Config } from '../config.ts'
import { authText } from '../discovery/auth.ts'
import type { Discovery, FoundSetting } from '../discovery/types.ts'
import { type Finding, failed, ok, warn } from './findings.ts'
import { addSettings, readSettingsFile, settingLines, variablesOf } from './settings-file.ts'

/** What a setting is at present, as a line would say it; undefined: found by itself, or unknown to this table. */
function presentValue({ api: { auth, paging } }: Config, name: string): string | undefined {
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
  }
  return values[name]?.toString()
}

const isSame = (name: string, a: string, b: string): boolean =>
  name === 'API_AUTH' ? a.toLowerCase() === b.toLowerCase() : a === b

/** Settings without which a sync is at most slower, or finds out by itself. */
const convenient = new Set(['API_SIZE_PARAM', 'API_PAGE_SIZE', 'API_PAGE_BASE', 'API_TOTAL_PATH'])

/** What the search says of the settings as they are. `written`: they are about to be as it found them. */
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
  const detail = `found and not set: ${lines(other)}${note}`
  const remedy = 'Set the lines below, or run: boat-mirror check --write'
  // Where links lead on, page numbers mostly do, too.
  const works = (each: FoundSetting): boolean => convenient.has(each.name) || each.value === 'link'
  return other.every(works) ? warn(name, detail, remedy) : { name, status: 'fail', detail, remedy }
}

/** A found setting, and what stands against it: null, `environment` or the file's name. */
export type SettingToWrite = FoundSetting & { readonly isThere: boolean; readonly contradictedBy: string | null }

/** Compares what was found with a file's variables and the environment, which wins. Pure. */
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
    return { ...setting, isThere: there !== undefined, contradictedBy }
  })
}

/** Adds to the file what is not there yet. @returns what it holds now, and what stands against it */
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
  return settings
}

/** The lines to set, as a person copies them. */
export const linesText = (found: readonly FoundSetting[]): string => `Lines to set:\n${settingLines(found).join('\n')}`

/** What was written, and what keeps it from having an effect. */
export function writtenText(path: string, settings: readonly SettingToWrite[]): string {
  const added = settings.filter(({ isThere }) => !isThere)
  const against = settings.filter(({ contradictedBy }) => contradictedBy !== null)
  return [
    added.length === 0 ? `Nothing to add to ${path}.` : `Added to ${path}:\n${settingLines(added).join('\n')}`,
    ...against.map(
      ({ name, value, contradictedBy }) =>
        `${name} is set to something else by ${contradictedBy}; found was ${value}. Change or remove it there.`,
    ),
  ].join('\n')
}
