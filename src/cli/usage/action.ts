// From the command line to the command: what it needs is loaded when it runs, so that help needs none of it.

import type { Command } from 'commander'
import type { Run, RunOptions } from '../context.ts'

/** For commands that do something at once: what they print is what counts. */
export const quiet: RunOptions = { logLevel: 'warn' }

/** For commands that only look. */
export const looks: RunOptions = { ...quiet, isResult: true }

/**
 * The action that commander calls for a command: the function `name` of a module gets its arguments, then its flags;
 * flags shared with the command above it, such as `--json`, may be given before or after the subcommand.
 */
export const action =
  <Name extends string>(
    load: () => Promise<Readonly<Record<Name, Run<never>>>>,
    name: Name,
    options: RunOptions = {},
  ) =>
  async (...given: unknown[]): Promise<void> => {
    const flags = (given.at(-1) as Command).optsWithGlobals()
    const [{ runCommand }, command] = await Promise.all([import('../context.ts'), load()])
    const run: Run<never> = command[name]
    const isResult = options.isResult || flags.dryRun === true || flags.status === true // these only look, too
    return runCommand((context) => run(context, ...([...given.slice(0, -2), flags] as never)), { ...options, isResult })
  }
