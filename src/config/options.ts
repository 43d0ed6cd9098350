// The settings as a program gives them: by their names in camelCase, as numbers and booleans where they have that
// type. Pure.

import { BoatMirrorError } from '../errors.ts'
import { meant } from '../near-names.ts'
import { type Setting, settings } from '../settings.ts'
import { fileSections } from './file.ts'
import { settingNames } from './names.ts'

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
