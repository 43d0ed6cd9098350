#!/usr/bin/env node
// The command line: one file per command, commander for flags and help.

import { setFlagsFromString } from 'node:v8'
import { Command, CommanderError } from 'commander'
import { packageVersion } from '../api/version.ts'
import { exitCodeOf } from '../errors.ts'
import { registerChanges } from './commands/changes.ts'
import { registerCheck } from './commands/check.ts'
import { registerDb } from './commands/db.ts'
import { registerDrift } from './commands/drift.ts'
import { registerExplain } from './commands/explain.ts'
import { registerMigrate } from './commands/migrate.ts'
import { registerPush } from './commands/push.ts'
import { registerQuarantine } from './commands/quarantine.ts'
import { registerReport } from './commands/report.ts'
import { registerRuns } from './commands/runs.ts'
import { registerSandbox } from './commands/sandbox.ts'
import { registerSchedule } from './commands/schedule.ts'
import { registerStatus } from './commands/status.ts'
import { registerSync } from './commands/sync.ts'
import { registerWorker } from './commands/worker.ts'
import { printError } from './context.ts'

/** Whatever slips through is said in one message; the stack is for whoever asked for details. */
const onUncaught = (error: unknown): void => {
  printError(error)
  if (process.env.LOG_LEVEL === 'debug' || process.env.LOG_LEVEL === 'trace')
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
}
process.on('uncaughtException', onUncaught)
process.on('unhandledRejection', onUncaught)
// `boat-mirror status | head`: the reader went away, which is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  error.code === 'EPIPE' ? process.exit(0) : onUncaught(error),
)

// V8 lets the heap grow to several times what is alive before it collects; memory shall stay flat however much is mirrored.
setFlagsFromString('--heap-growing-percent=40')

const program = new Command('boat-mirror')
  .description(
    'Keeps a Postgres database equal to what a boat-rental API shows, and carries queued changes back to it.',
  )
  .version(packageVersion())
  .showHelpAfterError('Add --help to see what it takes.')
  .exitOverride()
  .addHelpText(
    'after',
    '\nSettings come from the environment, then .env, then boat-mirror.yaml; README.md lists them.\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 finished but something needs a person.',
  )

for (const register of [
  registerWorker,
  registerSync,
  registerPush,
  registerChanges,
  registerStatus,
  registerRuns,
  registerSchedule,
  registerQuarantine,
  registerReport,
  registerExplain,
  registerDrift,
  registerCheck,
  registerMigrate,
  registerSandbox,
  registerDb,
])
  register(program)

try {
  await program.parseAsync()
} catch (error) {
  // commander has already said what is wrong; help and version are no errors.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else {
    printError(error)
    process.exitCode = exitCodeOf(error)
  }
}

// Everything is closed by now. Should a connection that never answers hold the process, it is let go.
setTimeout(() => process.stdout.writableLength === 0 && process.exit(), 5_000).unref()
