// Writes settings to a file of variables such as `.env`. Other lines stay, and no reader sees half a file.

import { chmod, chown, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse } from 'dotenv'
import { BoatMirrorError, messageOf, unreadableFile } from '../errors.ts'
import type { FoundSetting } from '../profile/search/find-paging.ts'
import { oneLine } from '../text.ts'

/** The file may hold secrets. */
const ownerOnly = 0o600

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** The text of the file; empty if there is none. @throws BoatMirrorError CONFIG_INVALID when it cannot be read */
export async function readSettingsFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return ''
    throw unreadableFile(path, cause)
  }
}

/** The variables of a text, without empty ones. */
export const variablesOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(parse(text)).filter(([, value]) => value !== ''))

/** Values that need no quotes, also in a shell. */
const plain = /^[\w.:@/%+=,-]+$/

/** Line ends, and other characters that no setting has. */
const controls = /[\p{Cc}\u2028\u2029]/u

/** A setting as a line, in quotes if it needs them; single ones expand nothing. @throws BoatMirrorError INTERNAL if no line can hold it */
export function settingLine(name: string, value: string): string {
  // A backslash before the closing quote would keep it open for some readers, down to the next one in the file.
  const quotes = ["'", '"', '`'].filter((quote) => !value.includes(quote) && !value.endsWith('\\'))
  // An unclosed quote at the beginning would do the same.
  const bare = /^\s*['"`]/.test(value) ? [] : [value]
  const ways = [...(plain.test(value) ? [value] : []), ...quotes.map((quote) => `${quote}${value}${quote}`), ...bare]
  const line = ways.map((written) => `${name}=${written}`).find((each) => parse(each)[name] === value)
  // Values come from answers of an API: one with a line end could set other variables.
  if (line === undefined || controls.test(value))
    throw new BoatMirrorError('INTERNAL', `${name} has a value that no line of a settings file can hold.`)
  return line
}

/** Settings as lines, each below its evidence. @throws BoatMirrorError INTERNAL for a value that no line can hold */
export const settingLines = (settings: readonly FoundSetting[]): readonly string[] =>
  settings.flatMap(({ name, value, evidence }) => [`# ${oneLine(evidence, 200)}`, settingLine(name, value)])

/** Appends lines to a text, with its own kind of line ends. Pure. */
export function withLines(text: string, lines: readonly string[]): string {
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const before = text === '' || text.endsWith('\n') ? text : `${text}${end}`
  return `${before}${[...lines, ''].join(end)}`
}

const endingAs =
  (other: string) =>
  (line: string): string =>
    other.endsWith('\r') ? `${line}\r` : line

/** A line that sets a variable of this name. */
const sets = (name: string): RegExp => new RegExp(`^\\s*(?:export\\s+)?${name}\\s*[=:]`)

/**
 * Gives the settings these values in a text: replaces other values in place, and appends missing settings. Other lines stay. Pure.
 * @throws BoatMirrorError INTERNAL for a value that no line can hold
 */
export function withSettings(text: string, settings: readonly FoundSetting[]): string {
  const variables = parse(text)
  let lines: readonly string[] = text.split('\n')
  for (const setting of settings) {
    if (variables[setting.name] === undefined || variables[setting.name] === setting.value) continue
    const last = lines.findLastIndex((line) => sets(setting.name).test(line))
    // Of two lines the last one counts.
    lines = lines.flatMap((line, index) =>
      index === last ? settingLines([setting]).map(endingAs(line)) : sets(setting.name).test(line) ? [] : [line],
    )
  }
  const missing = settings.filter(({ name }) => variables[name] === undefined)
  const kept = lines.join('\n')
  return missing.length === 0 ? kept : withLines(kept, settingLines(missing))
}

/** A written setting with its previous value in the file; null: none. */
export type Replaced = FoundSetting & { readonly before: string | null }

/** Adds the settings to the file, or creates it, readable only by its owner. @throws BoatMirrorError CONFIG_INVALID; it is then unchanged */
export async function addSettings(path: string, settings: readonly FoundSetting[]): Promise<void> {
  const text = await readSettingsFile(path)
  const lines = settingLines(settings)
  await writeWhole(path, { text, whole: lines.length === 0 ? text : withLines(text, lines), settings })
}

/** Gives the settings of the file these values, or creates it. @returns the settings that changed @throws BoatMirrorError CONFIG_INVALID; the file is then unchanged */
export async function replaceSettings(path: string, settings: readonly FoundSetting[]): Promise<readonly Replaced[]> {
  const text = await readSettingsFile(path)
  await writeWhole(path, { text, whole: withSettings(text, settings), settings })
  const variables = variablesOf(text)
  return settings
    .filter(({ name, value }) => variables[name] !== value)
    .map((setting) => ({ ...setting, before: variables[setting.name] ?? null }))
}

type Written = { readonly text: string; readonly whole: string; readonly settings: readonly FoundSetting[] }

/** Replaces the file atomically. */
async function writeWhole(path: string, { text, whole, settings }: Written): Promise<void> {
  const target = text === '' ? path : await realpath(path) // a link stays one
  const fresh = join(dirname(target), `.boat-mirror-${process.pid}.tmp`)
  try {
    if (whole !== text) {
      assertReadBack(whole, { ...parse(text), ...Object.fromEntries(settings.map(({ name, value }) => [name, value])) })
      await writeFile(fresh, whole, { mode: ownerOnly, flag: 'wx' })
      await keepOwner(target, fresh)
      await rename(fresh, target)
    } else if (text !== '') await chmod(target, ownerOnly)
  } catch (cause) {
    await rm(fresh, { force: true })
    throw new BoatMirrorError('CONFIG_INVALID', `${path} cannot be written: ${messageOf(cause)}`, {
      remedy: 'Add the lines yourself, or name another file.',
      cause,
    })
  }
}

/** Checks the new text: an unclosed quote takes in the lines after it, and a value of several lines cannot be replaced. */
function assertReadBack(text: string, wanted: Readonly<Record<string, string>>): void {
  const read = parse(text)
  const lost = Object.keys({ ...wanted, ...read }).find((name) => read[name] !== wanted[name])
  if (lost !== undefined) throw new Error(`${lost} could not be read from the file. Check it for an unclosed quote.`)
}

/** Keeps the owner of the file if root writes it. */
async function keepOwner(target: string, fresh: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const owner = await stat(target).catch(() => stat(dirname(target)))
  await chown(fresh, owner.uid, owner.gid)
}
