// `worker`: migrations, schedules, workers; runs until told to stop. `npm start` runs it.

import type { Command } from 'commander'
import { startScheduledWorker } from '../../jobs/worker.ts'
import { type CommandContext, type ExitCode, print, runCommand } from '../context.ts'
import { watchFirstSync } from '../first-sync.ts'

/** Registers `worker`. */
export function registerWorker(program: Command): void {
  program
    .command('worker')
    .description(
      'run schedules and workers until told to stop; the first complete sync starts at once on an empty mirror',
    )
    .action(() => runCommand(runWorker))
}

async function runWorker(context: CommandContext): Promise<ExitCode> {
  const { config, log, signal } = context
  await using app = await context.open({ schema: 'migrate', api: true, patienceMs: null })
  const backend = await app.openQueue(signal)
  const worker = await startScheduledWorker({
    context: app.syncContext,
    backend,
    log,
    config,
    ratePerSecond: app.ratePerSecond,
  })
  try {
    print(`API       ${app.apiUrl}${app.sandbox ? ' (the built-in sandbox)' : ''}`)
    print(`Database  ${app.databaseUrl.replace(/:[^:@/]*@/, ':***@')}   (npm run --silent cli -- db prints it in full)`)
    print(`Queue     ${backend.kind === 'redis' ? 'Redis' : 'Postgres'}`)
    await watchFirstSync(app.database, signal)
    print(
      'Up to date and on schedule. Look at it with: npm run cli -- status   Open the database with: npm run cli -- db psql',
    )
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    log.info({ event: 'stopping' }, 'stopping: tasks reach their checkpoint')
    return 0
  } finally {
    await worker.stop()
  }
}
