// `npm run scale`: what grows with the number of records, partners and syncs, and what must not. Prints tables, and writes
// them and their numbers into the folder `results`.

import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { resultsFile, resultsFolder, writeResult } from '../../scripts/results.ts'
import { openTestRedis } from '../../test/helpers/redis-server.ts'
import { partsFrom, wholeNumber } from '../options.ts'
import { prepared } from '../prepared.ts'
import { endAll } from '../processes.ts'
import { buildPrograms, type Programs } from '../programs.ts'
import { markdown, type TableOf, terminal } from '../report.ts'
import { detailStreams } from '../streams.ts'
import { forgetDetails, runWorkers, type WorkersResult } from '../workers.ts'
import { type Databases, openDatabases, openWorld } from '../world.ts'
import { type ListResult, measureList } from './list.ts'
import { measurePartners } from './partners.ts'
import { listTables, partnersTables, statementsTables, syncsTables, workersTables } from './report.ts'
import { measureStatements } from './statements.ts'
import { measureSyncs } from './syncs.ts'

const parts = ['statements', 'list', 'syncs', 'partners', 'workers'] as const
type Part = (typeof parts)[number]

type Flags = {
  readonly only: readonly Part[]
  readonly rows: number
  readonly rentals: number
  readonly rounds: number
  readonly syncs: number
  readonly changes: number
  readonly json?: string
}

/** Of whatever is counted; more takes days. */
const most = 100_000_000

const program = new Command('scale')
  .description('Measures at which sizes what takes longer: lists, statements, syncs, partners, workers.')
  .option('--only <parts>', `parts, separated by commas: ${parts.join(', ')}`, partsFrom(parts), parts)
  .option('--rows <number>', 'rows of the tables whose statements are measured', wholeNumber(2_000, most), 10_000_000)
  .option('--rentals <number>', 'records of the list', wholeNumber(400, most), 1_000_000)
  .option('--rounds <number>', 'lists of a hundredth of that, of which the medians count', wholeNumber(1, most), 3)
  .option('--syncs <number>', 'syncs one after the other', wholeNumber(10, most), 1_000)
  .option('--changes <number>', 'changes that one partner queues at once', wholeNumber(100, most), 10_000)
  .option('--json <file>', `where the numbers are written (default: ${resultsFolder}/scale.json)`)
  .parse()
const flags = program.opts<Flags>()

type Tools = { readonly databases: Databases; readonly programs: Programs }
type Outcome = { readonly result: unknown; readonly tables: readonly TableOf[] }

const measures: Readonly<Record<Part, (tools: Tools) => Promise<Outcome>>> = {
  statements: async ({ databases }) => {
    await assertRoom(databases.folder)
    const result = await measureStatements(databases, [Math.ceil(flags.rows / 100), flags.rows])
    return { result, tables: statementsTables(result) }
  },
  list: async (tools) => {
    const small: ListResult[] = []
    for (let round = 0; round < flags.rounds; round++)
      small.push(await measureList(Math.ceil(flags.rentals / 100), tools))
    const large = await measureList(flags.rentals, tools)
    return { result: { small, large }, tables: listTables(small, large) }
  },
  syncs: async ({ databases }) => {
    const result = await measureSyncs(flags.syncs, databases)
    return { result, tables: syncsTables(result) }
  },
  partners: async (tools) => {
    const result = await measurePartners(flags.changes, tools)
    return { result, tables: partnersTables(result) }
  },
  workers: async (tools) => {
    const result = await measureWorkers(tools)
    return { result, tables: workersTables(result) }
  },
}

const say = (text: string): void => void process.stderr.write(`${text}\n`)

const command = (part: Part): string => `npm run scale -- --only ${part}${sizesOf(part)}`
await using programs = await buildPrograms()
const databases = await openDatabases()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
const measured: Partial<Record<Part, unknown>> = {}
try {
  for (const part of parts) {
    if (!flags.only.includes(part)) continue
    say(`${part}: begins`)
    const { result, tables } = await measures[part]({ databases, programs })
    measured[part] = result
    for (const { head, rows } of tables) process.stdout.write(`${terminal(head, rows)}\n\n`)
    const text = tables.map(({ head, rows }) => `${markdown(head, rows)}\n`)
    say(`Written to ${writeResult(`scale-${part}`, command(part), text)}.`)
  }
} finally {
  await databases.close()
}
const json = flags.json ?? resultsFile('scale.json')
await writeFile(json, `${JSON.stringify(measured, null, 2)}\n`)
say(`Written to ${json}.`)

/** Ends before its time, and leaves nothing behind. */
async function stop(): Promise<void> {
  await endAll()
  await databases.close()
  await programs[Symbol.asyncDispose]()
  process.exit(130)
}

/** The sizes of a part, as they are given to it. */
function sizesOf(part: Part): string {
  const given = { statements: 'rows', list: 'rentals', syncs: 'syncs', partners: 'changes', workers: null }[part]
  return given === null ? '' : ` --${given} ${flags[given as 'rows']}`
}

/** A row of these tables with its indexes, its log and its state takes about so many bytes. */
async function assertRoom(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const needed = flags.rows * 4_000
  if (bavail * bsize < needed)
    throw new Error(
      `${flags.rows} rows need ${Math.ceil(needed / 2 ** 30)} GB below ${folder}, where ${Math.floor((bavail * bsize) / 2 ** 30)} GB are free: give another TMPDIR, or fewer --rows.`,
    )
}

/** One long-lived worker and eight on Redis, two requests in flight each, on an API that takes its time. */
async function measureWorkers({ databases, programs }: Tools): Promise<readonly WorkersResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-scale-redis-'))
  const redis = await openTestRedis(folder)
  if (redis === null) throw new Error('There is no redis-server on the path.')
  const world = await openWorld(1_000, 50)
  try {
    const place = { databases, programs, world }
    const streams = detailStreams
    const database = await prepared(place, streams)
    const warmUp = await databases.copy(database)
    await forgetDetails(database)
    await forgetDetails(warmUp, 100)
    const results: WorkersResult[] = []
    // A limit that they do not reach, so that each request is lent.
    const work = { redisUrl: redis.url, prepared: database, warmUp, streams, inFlight: 2, ratePerSecond: 1_000 }
    for (const workers of [1, 8]) results.push(await runWorkers(workers, work, place))
    return results
  } finally {
    await world.close()
    await redis.close()
    await rm(folder, { recursive: true, force: true })
  }
}
