// The command line: a file in usage/ says how each command is called, one in commands/ what it does.

import { setFlagsFromString } from 'node:v8'
import { type Command, CommanderError } from 'commander'
import { packageVersion } from '../api/wire/request.ts'
import { exitCodeOf } from '../errors.ts'
import { nearest } from '../near-names.ts'
import { printError } from './terminal/output.ts'
import { surviveOutputs } from './terminal/unwritten.ts'
import { Usage } from './usage/command.ts'
import { addReading } from './usage/reading.ts'
import { addSetUp } from './usage/set-up.ts'
import { addWork } from './usage/work.ts'

/** Returns the program with all its commands, as help shows it. */
export function createProgram(): Usage {
  const program = new Usage('boat-mirror')
    .description('Keeps a Postgres copy of a boat-rental API in sync, and sends queued changes back to the API.')
    .version(packageVersion())
    .showHelpAfterError('Add --help to see the usage.')
    .exitOverride()
    .note(
      'Settings come from the environment, then .env, then boat-mirror.yaml; docs/configuration.md lists them.',
      'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 finished, but something needs your attention.',
    )
  for (const add of [addWork, addReading, addSetUp]) add(program)
  return program
}

/** Refuses a misspelt subcommand, which commander would take for an argument of its parent. */
function assertSubcommand(command: Command | undefined, given = ''): void {
  const right = nearest(given, command?.commands.map((each) => each.name()) ?? [])
  if (right !== undefined && right !== given)
    command?.error(`error: unknown command '${command.name()} ${given}'\n(Did you mean ${right}?)`)
}

/** Runs a command line, without node and program, to its end, and sets `process.exitCode`. */
export async function runProgram(args: readonly string[]): Promise<void> {
  const program = createProgram()
  try {
    assertSubcommand(
      program.commands.find((each) => each.name() === args[0]),
      args[1],
    )
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    // commander has printed the problem; help and version are no errors.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
    else {
      printError(error)
      process.exitCode = exitCodeOf(error)
    }
  }
}

/** Errors that nothing has caught. */
const onUncaught = (error: unknown): void => {
  printError(error)
  process.exit(1)
}

/** Runs the command line of this process, and makes sure that it ends. */
export async function startProgram(): Promise<void> {
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)
  surviveOutputs()
  // By default V8 lets the heap grow to several times its live size before it collects.
  setFlagsFromString('--heap-growing-percent=70')
  await runProgram(process.argv.slice(2))
  // Everything is closed by now. A connection that never answers must not keep the process.
  setTimeout(() => process.stdout.writableLength === 0 && process.exit(), 5_000).unref()
}
