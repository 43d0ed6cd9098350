// Arguments and flags that several commands take.

import { type Command, InvalidArgumentError } from 'commander'

/** A command that takes `--json`. */
export const withJson = (command: Command): Command => command.option('--json', 'print JSON instead of text', false)

/** A command that decides, and takes `--expected`. `look`: the command that prints the plan. */
export const withExpected = (command: Command, look: string): Command =>
  command.option('--expected <plan>', `plan as \`${look}\` prints it; do nothing if it has changed`)

/** Parses an option that takes a whole number within bounds. @throws InvalidArgumentError, which commander reports. */
export const wholeNumber =
  (from: number, to: number) =>
  (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < from || value > to)
      throw new InvalidArgumentError(`It must be a whole number from ${from} to ${to}.`)
    return value
  }

/** Parses the number of a run, change or quarantined record. @throws InvalidArgumentError, which commander reports. */
export function recordNumber(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It must be a number from the list.')
  return text
}

/** Collects several of them. */
export const recordNumbers = (text: string, before: readonly string[]): string[] => [...before, recordNumber(text)]

/** Rows of a report in the terminal by default; CSV and JSON have all of them. */
export const shownRows = 100
