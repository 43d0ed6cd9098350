// `npm run bench`: the same work by the product, by its floors and by the usual ways, in one run. Prints tables, and writes
// them and their numbers into the folder `results`.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { resultsFile, resultsFolder, writeResult } from '../scripts/results.ts'
import { openTestRedis } from '../test/helpers/redis-server.ts'
import { type AutovacuumResult, runAutovacuum } from './autovacuum.ts'
import { type BookingResult, runBookings } from './booking.ts'
import { type FeedResult, runFeed } from './feed.ts'
import { prepareRounds, type Round, type Work } from './lists.ts'
import { partsFrom, wholeNumber } from './options.ts'
import { prepared } from './prepared.ts'
import { type PrivacyResult, runPrivacy } from './privacy.ts'
import { buildPrograms, type Programs } from './programs.ts'
import { type PushResult, runPush } from './push.ts'
import {
  autovacuumHead,
  autovacuumRows,
  bookingHead,
  bookingRows,
  feedHead,
  feedRows,
  markdown,
  privacyHead,
  privacyRows,
  pushHead,
  pushRows,
  ratioHead,
  ratioRows,
  roundHead,
  roundRows,
  serveHead,
  serveRows,
  type TableOf,
  terminal,
  workerHead,
  workerRows,
} from './report.ts'
import { openServe, type ServeResults } from './serve.ts'
import { detailStreams, listsBeforeRentals } from './streams.ts'
import {
  autovacuumRatios,
  detailRatios,
  feedRatios,
  growthRatios,
  listRatios,
  privacyRatios,
  pushRatios,
  type Ratio,
  serveRatios,
  workerRatios,
} from './targets.ts'
import { forgetDetails, runWorkers, type WorkersResult } from './workers.ts'
import { type Databases, openDatabases, openWorld } from './world.ts'

const parts = [
  'lists',
  'details',
  'latency',
  'push',
  'feed',
  'booking',
  'privacy',
  'workers',
  'autovacuum',
  'serve',
] as const
type Part = (typeof parts)[number]

type Flags = {
  readonly only: readonly Part[]
  readonly rounds: number
  readonly quick: boolean
  readonly json?: string
}

const program = new Command('bench')
  .description('Measures syncs and pushes against floors and against the usual ways, on the same data, in one run.')
  .option('--only <parts>', `parts, separated by commas: ${parts.join(', ')}`, partsFrom(parts), parts)
  .option('--rounds <number>', 'repetitions; the order turns around in every other one', wholeNumber(1, 100), 3)
  .option('--quick', 'a tenth of the data, to see that everything works', false)
  .option('--json <file>', `where the numbers are written (default: ${resultsFolder}/bench.json)`)
  .parse()
const flags = program.opts<Flags>()
const scale = (size: number): number => (flags.quick ? Math.max(200, size / 10) : size)

/** What one part measured. */
type Results = {
  readonly rounds: Record<string, readonly Round[]>
  readonly workers: Record<string, readonly WorkersResult[]>
  readonly autovacuum: Record<string, readonly AutovacuumResult[]>
  readonly push: PushResult[]
  readonly feed: FeedResult[]
  readonly booking: Record<string, readonly BookingResult[]>
  readonly serve: ServeResults[]
  readonly privacy: Record<string, readonly PrivacyResult[]>
  readonly ratios: Ratio[]
}

type Tools = { readonly databases: Databases; readonly programs: Programs; readonly results: Results }

const benches: Readonly<Record<Part, (tools: Tools) => Promise<void>>> = {
  lists: benchLists,
  details: benchDetails,
  latency: benchLatency,
  push: benchPush,
  feed: benchFeed,
  booking: benchBooking,
  privacy: benchPrivacy,
  workers: benchWorkers,
  autovacuum: benchAutovacuum,
  serve: benchServe,
}

const say = (text: string): void => void process.stderr.write(`${text}\n`)
const print = (text: string): void => void process.stdout.write(`${text}\n\n`)

const command = (part: string): string =>
  `npm run bench -- --only ${part} --rounds ${flags.rounds}${flags.quick ? ' --quick' : ''}`
await using programs = await buildPrograms()
const databases = await openDatabases()
const measured: Partial<Record<Part, Results>> = {}
try {
  for (const part of parts) {
    if (!flags.only.includes(part)) continue
    const results: Results = {
      rounds: {},
      workers: {},
      autovacuum: {},
      push: [],
      feed: [],
      booking: {},
      serve: [],
      privacy: {},
      ratios: [],
    }
    await benches[part]({ databases, programs, results })
    measured[part] = results
    const tables = tablesOf(results)
    for (const { head, rows } of tables) print(terminal(head, rows))
    const text = tables.map(({ head, rows }) => `${markdown(head, rows)}\n`)
    say(`Written to ${writeResult(`bench-${part}`, command(part), text)}.`)
  }
  const all = parts.flatMap((part) => measured[part] ?? [])
  const goals = all.flatMap(({ ratios }) => ratios.filter(({ isGoal }) => isGoal))
  if (all.length === parts.length)
    writeResult('bench-goals', command(parts.join(',')), [markdown(ratioHead, ratioRows(goals))])
} finally {
  await databases.close()
}
const json = flags.json ?? resultsFile('bench.json')
await writeFile(json, `${JSON.stringify({ machine: machine(), ...measured }, null, 2)}\n`)
say(`Written to ${json}.`)

function machine(): object {
  const [processor] = cpus()
  return {
    node: process.version,
    processors: cpus().length,
    model: processor?.model,
    memoryMb: Math.round(totalmem() / 2 ** 20),
  }
}

function tablesOf(results: Results): readonly TableOf[] {
  const rounds = Object.entries(results.rounds).flatMap(([title, all]) => roundRows(title, all))
  const workers = Object.entries(results.workers).flatMap(([queue, all]) => workerRows(queue, all))
  return [
    { head: roundHead, rows: rounds },
    { head: workerHead, rows: workers },
    {
      head: autovacuumHead,
      rows: Object.entries(results.autovacuum).flatMap(([title, all]) => autovacuumRows(title, all)),
    },
    { head: pushHead, rows: pushRows(results.push) },
    { head: feedHead, rows: feedRows(results.feed) },
    {
      head: bookingHead,
      rows: Object.entries(results.booking).flatMap(([title, all]) => bookingRows(title, all)),
    },
    { head: serveHead, rows: serveRows(results.serve) },
    {
      head: privacyHead,
      rows: Object.entries(results.privacy).flatMap(([title, all]) => privacyRows(title, all)),
    },
    { head: ratioHead, rows: ratioRows(results.ratios) },
  ].filter(({ rows }) => rows.length > 0)
}

/** Rounds of one piece of work on a world of its own. */
async function runRounds(
  title: string,
  { results, ...place }: Tools,
  work: {
    size: number
    latencyMs?: number
    depth: 'lists' | 'details'
    streams: readonly string[]
    before: readonly string[]
    against: Work['against']
  },
): Promise<readonly Round[]> {
  say(`${title}: making a world of ${work.size} rentals`)
  const world = await openWorld(work.size, work.latencyMs)
  try {
    const run = await prepareRounds(work, { ...place, world })
    const rounds: Round[] = []
    for (let round = 1; round <= flags.rounds; round++) {
      say(`${title}: round ${round} of ${flags.rounds}`)
      rounds.push(await run(round))
    }
    results.rounds[title] = rounds
    return rounds
  } finally {
    await world.close()
  }
}

async function benchLists(tools: Tools): Promise<void> {
  const all: (readonly Round[])[] = []
  const sizes = { short: 1_000, long: 10_000, longest: 100_000 } as const
  for (const length of ['short', 'long', 'longest'] as const) {
    const size = scale(sizes[length])
    const title = `list of ${size.toLocaleString('en')}`
    const rounds = await runRounds(title, tools, {
      size,
      depth: 'lists',
      streams: ['rentals'],
      before: listsBeforeRentals,
      against: length === 'longest' ? ['write floor'] : ['write floor', 'usual ways', 'long-lived worker'],
    })
    tools.results.ratios.push(...listRatios(title, length, rounds))
    all.push(rounds)
  }
  const [smallest, largest] = [all.at(0), all.at(-1)]
  if (smallest !== undefined && largest !== undefined) tools.results.ratios.push(...growthRatios(smallest, largest))
}

async function benchDetails(tools: Tools): Promise<void> {
  for (const size of [1_000, 10_000].map(scale)) {
    const title = `${size.toLocaleString('en')} with details`
    const rounds = await runRounds(title, tools, {
      size,
      depth: 'details',
      streams: detailStreams,
      before: [],
      against: ['write floor'],
    })
    tools.results.ratios.push(...detailRatios(title, 2.5, rounds))
  }
}

async function benchLatency(tools: Tools): Promise<void> {
  const title = `${scale(1_000).toLocaleString('en')} with details, 20 ms upstream`
  const work = {
    size: scale(1_000),
    latencyMs: 20,
    depth: 'details',
    streams: detailStreams,
    before: [],
    against: ['write floor'],
  } as const
  tools.results.ratios.push(...detailRatios(title, 1.08, await runRounds(title, tools, work)))
}

async function benchPush(tools: Tools): Promise<void> {
  for (let round = 1; round <= flags.rounds; round++) {
    say(`push: round ${round} of ${flags.rounds}`)
    // A world of its own: the crews of one that was written to are longer.
    const world = await openWorld(scale(4_000))
    try {
      const place = { ...tools, world }
      const database = await prepared(place, ['rentals', 'rental_crew_members'])
      const wishes = { samples: flags.quick ? 20 : 100, changes: scale(10_000), rentals: scale(10_000) / 10 }
      tools.results.push.push(await runPush(place, { prepared: database, ...wishes }))
      await tools.databases.drop(database)
    } finally {
      await world.close()
    }
  }
  tools.results.ratios.push(...pushRatios(tools.results.push))
}

async function benchFeed(tools: Tools): Promise<void> {
  const wishes = flags.quick ? { samples: 20, seconds: 3 } : { samples: 200, seconds: 20 }
  for (let round = 1; round <= flags.rounds; round++) {
    say(`feed: round ${round} of ${flags.rounds}`)
    tools.results.feed.push(await runFeed(tools, wishes))
  }
  tools.results.ratios.push(...feedRatios(tools.results.feed))
}

async function benchBooking(tools: Tools): Promise<void> {
  const size = scale(20_000)
  const title = `${size.toLocaleString('en')} rentals`
  // Once: its first sync takes minutes, and each booking is a sample of its own.
  say(`booking: making a world of ${size} rentals, and reading all of it`)
  const world = await openWorld(size)
  try {
    tools.results.booking[title] = [await runBookings({ ...tools, world }, flags.quick ? 8 : 40)]
  } finally {
    await world.close()
  }
}

async function benchPrivacy(tools: Tools): Promise<void> {
  const size = scale(10_000)
  const title = `list of ${size.toLocaleString('en')}`
  say(`privacy: making a world of ${size} rentals`)
  const world = await openWorld(size)
  try {
    const results: PrivacyResult[] = []
    for (let round = 1; round <= flags.rounds; round++) {
      say(`privacy: round ${round} of ${flags.rounds}`)
      results.push(await runPrivacy(round, { ...tools, world }))
    }
    tools.results.privacy[title] = results
    tools.results.ratios.push(...privacyRatios(results))
  } finally {
    await world.close()
  }
}

async function benchWorkers(tools: Tools): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-bench-redis-'))
  const redis = await openTestRedis(folder)
  if (redis === null) say('workers: no redis-server here, so only the queue on Postgres is measured')
  const world = await openWorld(scale(1_000), 20)
  try {
    const place = { ...tools, world }
    const database = await prepared(place, ['rentals'])
    await forgetDetails(database)
    for (const [queue, redisUrl] of [
      ['Postgres', null],
      ['Redis', redis?.url],
    ] as const) {
      if (redisUrl === undefined) continue
      const all: WorkersResult[] = []
      for (let round = 1; round <= flags.rounds; round++)
        for (const workers of round % 2 === 1 ? [1, 2, 4] : [4, 2, 1]) {
          say(`workers: queue on ${queue}, round ${round} of ${flags.rounds}, ${workers} at once`)
          const streams = ['rentals']
          const work = { redisUrl, prepared: database, warmUp: null, streams, inFlight: 2, ratePerSecond: 0 }
          all.push(await runWorkers(workers, work, place))
        }
      all.sort((a, b) => a.workers - b.workers)
      tools.results.workers[queue] = all
      tools.results.ratios.push(...workerRatios(`queue on ${queue}`, all))
    }
  } finally {
    await world.close()
    await redis?.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function benchAutovacuum(tools: Tools): Promise<void> {
  const size = scale(20_000)
  const title = `${size.toLocaleString('en')} with details`
  say(`autovacuum: making a world of ${size} rentals`)
  const world = await openWorld(size)
  try {
    const results = await runAutovacuum(flags.rounds, { ...tools, world })
    tools.results.autovacuum[title] = results
    tools.results.ratios.push(...autovacuumRatios(`second sync, ${title}, autovacuum`, results))
  } finally {
    await world.close()
  }
}

async function benchServe(tools: Tools): Promise<void> {
  const size = scale(20_000)
  say(`serve: making a world of ${size} rentals, and reading it`)
  const world = await openWorld(size)
  try {
    const serve = await openServe({ ...tools, world })
    try {
      const wishes = { seconds: flags.quick ? 3 : 10, rounds: flags.rounds }
      const onRound = (round: number): void => say(`serve: round ${round} of ${flags.rounds}`)
      tools.results.serve.push(...(await serve.measure(wishes, onRound)))
      tools.results.ratios.push(...serveRatios(tools.results.serve))
    } finally {
      await serve.close()
    }
  } finally {
    await world.close()
  }
}
