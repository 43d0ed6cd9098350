// Syncs killed with SIGKILL at random moments: the mirror must equal the truth, and nothing may have been counted twice.
// Seeded. A slice in the suite, the full number with `npm run chaos -- --only syncs`.

import { afterAll, describe, expect, inject, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { createRandom } from '../../sandbox/world/random.ts'
import { sleep } from '../../src/clock.ts'
import { openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { differencesFromTruth } from '../helpers/truth.ts'
import { report } from './report.ts'

const backends = [
  { name: 'Postgres', redisUrl: null },
  { name: 'Redis', redisUrl: inject('redisUrl') },
] as const

/** Workers that share each sync, syncs to kill, and rentals of the world. */
const plans = isFull
  ? [
      { workers: 1, kills: 10, seed: 11, size: 60 },
      { workers: 2, kills: 12, seed: 12, size: 60 },
      { workers: 4, kills: 12, seed: 13, size: 60 },
    ]
  : [{ workers: 2, kills: 4, seed: 7, size: 40 }]

/** Each list run reads every record once, and every live row was inserted once: nothing was counted or logged twice. */
const doubleChecks: readonly (readonly [string, string])[] = [
  [
    'a record was inserted twice',
    `select stream || ' ' || key::text as what from mirror.change_log where operation = 'insert' group by stream, key having count(*) > 1 limit 5`,
  ],
  [
    'a page was counted twice',
    `select r.stream || ' run ' || r.id || ': ' || r.pages || ' counted, ' || s.pages || ' read' as what
     from sync.runs r join (select run_id, count(*) as pages from sync.sweep_pages group by run_id) s on s.run_id = r.id
     where r.pages <> s.pages limit 5`,
  ],
  [
    'an inserted row was counted twice, or not at all',
    `select r.stream || ' run ' || r.id || ': ' || r.inserted || ' counted, ' || l.logged || ' logged' as what
     from (select stream, max(id) as id, sum(inserted) as inserted from sync.runs group by stream) r
     join (select stream, count(*) as logged from mirror.change_log where operation = 'insert' group by stream) l on l.stream = r.stream
     where r.stream like 'rental\\_%' and r.inserted <> l.logged limit 5`,
  ],
  [
    'a task is still open',
    `select kind || ' of ' || stream as what from sync.tasks where status in ('waiting', 'running') limit 5`,
  ],
  ['a run is still open', `select stream as what from sync.runs where status = 'running' limit 5`],
  [
    'a run failed',
    `select stream || ': ' || coalesce(error, '') as what from sync.runs where status in ('failed', 'partial') limit 5`,
  ],
  [
    'two runs of a stream overlapped',
    `select a.stream as what from sync.runs a join sync.runs b on a.stream = b.stream and a.id < b.id
     and b.started_at < a.finished_at limit 5`,
  ],
]

/** Starts syncs, kills them, and lets the last one finish. Returns the number of kills, and what is wrong then. */
async function killSyncs({ workers, kills, seed, size }: (typeof plans)[number], redisUrl: string | null) {
  await using database = await createTestDatabase()
  await using sandbox = await createSandbox({ size, seed, latencyMs: 1 })
  await using cli = await openCommandLine({
    ...{ API_BASE_URL: sandbox.url, API_AUTH: 'none', API_RATE_LIMIT: '0', API_PAGE_SIZE: '20' },
    ...{ LOG_LEVEL: 'fatal', DATABASE_URL: database.url, ...(redisUrl !== null && { REDIS_URL: redisUrl }) },
  })
  const random = createRandom(seed, 'kills').next
  let [killed, late] = [0, 0]
  while (killed < kills && late <= kills * 2) {
    // A sync with everything fresh is over too soon to be killed: the world moves between two of them.
    if (killed > 0) sandbox.mutateRandomly(10, seed * 1_000 + killed + late)
    const syncs = Array.from({ length: workers }, () => cli.start(['sync', ...(late % 2 === 1 ? ['--full'] : [])]))
    await sleep(600 + random() * 2_500)
    for (const { process } of syncs) {
      if (process.exitCode === null && process.kill('SIGKILL')) killed++
      else late++
    }
    await Promise.all(syncs.map(({ ended }) => ended))
  }
  const { code, stderr } = await cli.start(['sync', '--full']).ended
  const violations = [...(await differencesFromTruth(database.pool, sandbox.truthText()))]
  if (code !== 0) violations.push(`the last sync ended with ${code}: ${stderr}`)
  for (const [name, sql] of doubleChecks) {
    const { rows } = await database.pool.query<{ what: string }>(sql)
    violations.push(...rows.map(({ what }) => `${name}: ${what}`))
  }
  return { killed, violations }
}

const lines: string[] = []

describe('syncs killed with SIGKILL at random moments', () => {
  // The queue wakes workers; the tables say what to do.
  for (const { name, redisUrl } of backends)
    for (const plan of plans)
      it.skipIf(name === 'Redis' && redisUrl === null)(
        `leave nothing lost and nothing counted twice (queue on ${name}, ${plan.workers} workers a sync)`,
        async () => {
          const { killed, violations } = await killSyncs(plan, redisUrl)
          lines.push(`| ${name} | ${plan.workers} | ${plan.seed} | ${killed} | ${violations.length} |`)
          expect(violations).toEqual([])
          expect(killed).toBeGreaterThanOrEqual(plan.kills)
        },
        isFull ? 400_000 : 120_000,
      )
})

afterAll(() =>
  report('syncs', [
    '| queue | workers a sync | seed | killed with SIGKILL | violations |',
    '|---|---|---|---|---|',
    ...lines.sort(),
  ]),
)
