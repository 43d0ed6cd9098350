// A command as commander makes it, with the flags, arguments and actions that several of ours share.

import { Command, InvalidArgumentError } from 'commander'
import type { Run, RunOptions } from '../context.ts'

/** For commands that do something at once: what they print is what counts. */
export const quiet: RunOptions = { logLevel: 'warn' }

/** For commands that only look. */
export const looks: RunOptions = { ...quiet, isResult: true }

/** A function of a module, by its name, and how it runs. */
type Loaded<Name extends string> = [
  load: () => Promise<Readonly<Record<Name, Run<never>>>>,
  name: Name,
  options?: RunOptions,
]

export class Usage extends Command {
  override createCommand(name?: string): Usage {
    return new Usage(name)
  }

  /** Adds lines at the end of the help. */
  note(...lines: readonly string[]): this {
    return this.addHelpText('after', `\n${lines.join('\n')}`)
  }

  /** Takes `--expected`, for a command that decides. `look`: the command that prints the plan. */
  expected(look: string): this {
    return this.option('--expected <plan>', `plan as \`${look}\` prints it; do nothing if it has changed`)
  }

  /**
   * Runs the function `name` of a module with its arguments, then its flags. The module is loaded when the command runs, so that help
   * needs none of it. Flags shared with the command above it, such as `--json`, may be given before or after the subcommand.
   */
  runs<Name extends string>(...[load, name, options = {}]: Loaded<Name>): this {
    return this.action(async (...given: unknown[]) => {
      const flags = this.optsWithGlobals()
      const [{ runCommand }, command] = await Promise.all([import('../context.ts'), load()])
      const run: Run<never> = command[name]
      const isResult = options.isResult || flags.dryRun === true || flags.status === true // these only look, too
      await runCommand((context) => run(context, ...([...given.slice(0, -2), flags] as never)), {
        ...options,
        isResult,
      })
    })
  }

  /** Does the same for a command that prints facts: it also takes `--json`. */
  prints<Name extends string>(...what: Loaded<Name>): this {
    return this.option('--json', 'print JSON instead of text', false).runs(...what)
  }
}

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

const largestId = 9_223_372_036_854_775_807n

/** Parses the id of a company. @throws InvalidArgumentError, which commander reports. */
export function companyId(id: string): string {
  if (!/^\d{1,19}$/.test(id) || BigInt(id) > largestId)
    throw new InvalidArgumentError(`"${id}" is not the id of a company. It must be a number.`)
  return BigInt(id).toString()
}

/** Parses a text of this form. @throws InvalidArgumentError, which commander reports. */
export const matching =
  (pattern: RegExp, otherwise: string) =>
  (text: string): string => {
    if (pattern.test(text)) return text
    throw new InvalidArgumentError(otherwise)
  }

/** Rows of a report in the terminal by default; CSV and JSON have all of them. */
export const shownRows = 100
