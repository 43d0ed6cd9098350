// The configuration file: settings, and the sections schedules, targets, lists and privacy. Checks the sections; settings.ts defines what
// settings may be.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { BoatMirrorError, unreadableFile } from '../errors.ts'
import { meant } from '../near-names.ts'
import { oneOf, type PagingStyle, pagingStyles, parseDuration, settings } from '../settings.ts'

/** How a list is paged. `null`: detected. */
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

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The longest part of a value or name in a message. */
export const shownLength = 100

/** A name from the file, on one line. */
export const label = (name: string): string =>
  /^[\w.-]{1,60}$/.test(name) ? name : JSON.stringify(name.slice(0, shownLength))

/** A value from the file as a message repeats it. */
export const given = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, shownLength)) : Array.isArray(value) ? 'a list' : 'a map'

/**
 * The file named by BOAT_MIRROR_CONFIG, else `boat-mirror.yaml` if it exists; values are texts, lists or maps.
 * @throws BoatMirrorError CONFIG_INVALID when it can't be read or is not YAML
 */
export function readFile(env: Readonly<Record<string, string | undefined>>, cwd: string): Record<string, unknown> {
  const named = env.BOAT_MIRROR_CONFIG || undefined
  const path = resolve(cwd, named ?? 'boat-mirror.yaml')
  if (!existsSync(path)) {
    if (named === undefined) return {}
    throw new BoatMirrorError('CONFIG_INVALID', `BOAT_MIRROR_CONFIG is ${label(named)}. This file does not exist.`)
  }
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw unreadableFile(path, cause)
  }
  const parsed = parseYaml(text, path)
  if (parsed === null || parsed === '') return {}
  if (!isRecord(parsed)) throw new BoatMirrorError('CONFIG_INVALID', `${path} must hold names and values.`)
  return parsed
}

/** Parses names, lists and texts. Values stay as written (YAML's failsafe schema), so that no digit of a secret is lost. */
function parseYaml(text: string, path: string): unknown {
  // Loaded where there is a file: its modules take a tenth of the time of a command.
  const yaml: typeof import('yaml') = createRequire(import.meta.url)('yaml')
  const document = yaml.parseDocument(text, { schema: 'failsafe', logLevel: 'silent' })
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
    throw refused(cause) // an unknown or endless alias
  }
}

/** The sections of the file in addition to settings. */
export const fileSections = ['schedules', 'targets', 'lists', 'privacy']

/** Whether a value is null in YAML. */
export const isUnset = (value: unknown): boolean =>
  value === undefined || value === '' || value === '~' || value === 'null'

/** What a section of the file holds under its names. */
type SectionOf<T> = { readonly holds: string; readonly takes: string; readonly parse: (text: string) => T | undefined }

/** A section of names with values of one kind. Errors are added to `problems`. */
const section =
  <T>({ holds, takes, parse }: SectionOf<T>) =>
  (values: unknown, name: string, problems: string[]): Record<string, T> => {
    if (isUnset(values)) return {}
    if (!isRecord(values)) {
      problems.push(`${name} in the file is ${given(values)}. It must be ${holds}.`)
      return {}
    }
    const entries: [string, T][] = []
    for (const [key, value] of Object.entries(values)) {
      const parsed = typeof value === 'string' ? parse(value) : undefined
      if (parsed === undefined) problems.push(`${name}.${label(key)} is ${given(value)}. It must be ${takes}.`)
      else entries.push([key, parsed])
    }
    return Object.fromEntries(entries)
  }

/** Durations by stream, in milliseconds; `off` is 0. */
export const durations = section<number>({
  holds: 'names of streams with durations, for example {rentals: 15m}',
  takes: 'a duration, for example 15m, or off',
  parse: (text) => (text === 'false' || text === 'off' ? 0 : parseDuration(text)),
})

/** What becomes of a personal column. */
export type PersonalDataAction = 'keep' | 'hash' | 'drop'

/** The treatment of personal columns, by `table.column`. */
export const privacy = section<PersonalDataAction>({
  holds: 'columns with actions, for example {users.email: hash}',
  ...settings.personalData,
})

const { pageParam, sizeParam, pageSize, pageBase, itemsPath, nextPath, totalPath } = settings
/** A single list may also be without pages. */
const paging = oneOf(pagingStyles)
const ofLists = { paging, pageParam, sizeParam, pageSize, pageBase, itemsPath, nextPath, totalPath }
const knownOfLists = Object.keys(ofLists)

/** The section `lists`: paging by stream. Errors are added to `problems`. */
export function lists(section: unknown, problems: string[]): Record<string, Partial<PagingSettings>> {
  if (isUnset(section)) return {}
  if (!isRecord(section)) {
    problems.push(`lists in the file is ${given(section)}. It must be names of streams with paging settings.`)
    return {}
  }
  const result: [string, Partial<PagingSettings>][] = []
  for (const [stream, raw] of Object.entries(section)) {
    if (!isRecord(raw)) {
      problems.push(`lists.${label(stream)} is ${given(raw)}. It must be settings, for example {paging: page}.`)
      continue
    }
    const entry: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(raw)) {
      const setting = Object.hasOwn(ofLists, key) ? ofLists[key as keyof typeof ofLists] : undefined
      const parsed = typeof value === 'string' ? setting?.parse(value) : undefined
      const known =
        setting === undefined
          ? `Known are ${knownOfLists.join(', ')}${meant(key, knownOfLists)}`
          : `It must be ${setting.takes}`
      if (parsed === undefined) problems.push(`lists.${label(stream)}.${label(key)} is ${given(value)}. ${known}.`)
      else entry[key === 'paging' ? 'style' : key] = parsed
    }
    result.push([stream, entry as Partial<PagingSettings>])
  }
  return Object.fromEntries(result)
}
