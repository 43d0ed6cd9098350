// `npm run chaos`: the storm, in which every fault happens at once; with --only, the two campaigns of one fault at a time.

import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { writeResult } from '../../scripts/results.ts'
import { messageOf } from '../../src/errors.ts'
import { makeRunFolder } from '../helpers/run-folder.ts'
import { runStorm, type StormResult } from './storm/campaign.ts'
import type { Queue } from './storm/stage.ts'
import { summary } from './storm/table.ts'

const defaultMinutes = 10

const number =
  (from: number, to: number, whole: boolean) =>
  (text: string): number => {
    const value = Number(text)
    if (!/^\d+(\.\d+)?$/.test(text) || value < from || value > to || (whole && !Number.isInteger(value)))
      throw new InvalidArgumentError(`It takes a ${whole ? 'whole ' : ''}number from ${from} to ${to}.`)
    return value
  }

type Options = {
  readonly minutes: number
  readonly seed?: number
  readonly queue: Queue | 'both'
  readonly workers: number
  readonly size: number
  readonly only: 'storm' | 'syncs' | 'changes' | 'feed' | 'ground' | 'all'
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** Runs the campaigns of one fault at a time, in full. Returns the exit code. */
function runMatrix(only: Options['only']): number {
  const files = {
    syncs: ['chaos/kill-campaign'],
    changes: ['chaos/push-campaign'],
    feed: ['mirror/consumers', 'mirror/feed-copies', 'messages/webhook'],
    ground: ['chaos/ground-campaign', 'outbox/ground'],
  }
  const chosen = only === 'storm' ? [] : only === 'all' ? Object.values(files).flat() : files[only]
  const args = chosen.map((name) => `test/${name}.test.ts`)
  if (args.length === 0) return 0
  const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--mode=full', ...args], {
    stdio: 'inherit',
    env: { ...process.env, REQUIRE_REDIS: '1' },
  })
  return status ?? 1
}

async function runStorms({ minutes, seed = randomInt(1, 1_000_000), queue, workers, size }: Options): Promise<number> {
  const queues: readonly Queue[] = queue === 'both' ? ['postgres', 'redis'] : [queue]
  const again = `npm run chaos -- --minutes ${minutes} --seed ${seed} --queue ${queue} --workers ${workers} --size ${size}`
  say(`Seed ${seed}. Repeat it with: ${again}`)
  const folder = await makeRunFolder()
  // Apart from the folder of the run, which the next run clears away.
  const kept = mkdtempSync(join(tmpdir(), 'boat-mirror-chaos-'))
  const stopped = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => stopped.abort(new Error('broken off by a signal')))
  const results: StormResult[] = []
  for (const each of queues) {
    say(`\nQueue on ${each === 'redis' ? 'Redis' : 'Postgres'}`)
    const own = join(folder, each)
    mkdirSync(own, { mode: 0o711 })
    const logs = join(kept, each)
    mkdirSync(logs)
    const ms = (minutes * 60_000) / queues.length
    results.push(
      await runStorm({ queue: each, seed, ms, workers, size, folder: own, logs, onEvent: say, signal: stopped.signal }),
    )
  }
  rmSync(folder, { recursive: true, force: true })
  const { lines, violations } = summary(results)
  say(`\n${lines.join('\n')}`)
  say(`\nWritten to ${writeResult('chaos-storm', again, lines)}.`)
  if (violations.length > 0) {
    say(`\n${violations.length} violations, seed ${seed}. Logs of the workers: ${kept}. Repeat it with: ${again}`)
    for (const violation of violations) say(`  ${violation}`)
    return 1
  }
  rmSync(kept, { recursive: true, force: true })
  return 0
}

const program = new Command('npm run chaos --')
  .description('Runs the program under faults and judges what is left. Needs `redis-server` on the path.')
  .option('--minutes <n>', 'how long faults happen, in all', number(0.25, 1_440, false), defaultMinutes)
  .option(
    '--seed <n>',
    'draws the timetable of faults, the world and the changes; drawn and printed when left out',
    number(1, 1_000_000_000, true),
  )
  .addOption(
    new Option('--queue <queue>', 'where BullMQ runs; both: half the time each')
      .choices(['postgres', 'redis', 'both'])
      .default('both'),
  )
  .option('--workers <n>', 'processes of `boat-mirror worker`', number(2, 4, true), 2)
  .option('--size <n>', 'rentals of the world', number(60, 2_000, true), 80)
  .addOption(
    new Option(
      '--only <campaign>',
      'storm: all faults at once; syncs, changes, feed: one fault at a time; ground: databases that go back or are copied; all: all of them',
    )
      .choices(['storm', 'syncs', 'changes', 'feed', 'ground', 'all'])
      .default('storm'),
  )
  .allowExcessArguments(false)
  .showHelpAfterError('Add --help to see the usage.')
  .action(async (options: Options) => {
    const matrix = runMatrix(options.only)
    const storms = options.only === 'storm' || options.only === 'all' ? await runStorms(options) : 0
    process.exitCode = matrix || storms
  })

try {
  await program.parseAsync()
  // Left to itself, Node 20 may turn for ever in its last clean-up, waiting for sockets that a fault left half open.
  process.exit()
} catch (error) {
  process.stderr.write(`The campaign itself failed: ${error instanceof Error ? error.stack : messageOf(error)}\n`)
  process.exit(1) // what was under way does not keep a broken campaign alive
}
