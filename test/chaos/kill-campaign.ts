// Kills syncs with SIGKILL at random moments and checks what is left: the mirror must equal the truth, and nothing may
// have been counted twice. Seeded, so that a run can be repeated.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createSandbox } from '../../sandbox/index.ts'
import { createRandom } from '../../sandbox/world/random.ts'
import { createTestPool } from '../helpers/database.ts'
import { differencesFromTruth } from '../helpers/truth.ts'

export type KillCampaign = {
  readonly databaseUrl: string
  /** null: the queue is on Postgres. */
  readonly redisUrl: string | null
  /** Syncs to kill. */
  readonly kills: number
  readonly seed: number
  /** Rentals of the world. */
  readonly size: number
  /** Workers that share each sync. */
  readonly workers: number
}

export type KillResult = {
  readonly killed: number
  /** Kills that met a sync which had already ended. */
  readonly late: number
  /** What is wrong; empty when all is right. */
  readonly violations: readonly string[]
}

const program = resolve('dist/src/cli/main.js')

type Started = { readonly child: ChildProcess; readonly ended: Promise<unknown>; readonly complaints: () => string }

function start(command: readonly string[], env: Readonly<Record<string, string>>): Started {
  const child = spawn(process.execPath, [program, ...command], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-4_000)
  })
  return { child, ended: once(child, 'close'), complaints: () => text }
}

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

/** Starts syncs, kills them, and lets the last one finish. */
export async function runKillCampaign(campaign: KillCampaign): Promise<KillResult> {
  const random = createRandom(campaign.seed, 'kills').next
  const sandbox = await createSandbox({ size: campaign.size, seed: campaign.seed, latencyMs: 1 })
  const env = {
    API_BASE_URL: sandbox.url,
    API_AUTH: 'none',
    API_RATE_LIMIT: '0',
    API_PAGE_SIZE: '20',
    LOG_LEVEL: 'fatal',
    DATABASE_URL: campaign.databaseUrl,
    ...(campaign.redisUrl === null ? {} : { REDIS_URL: campaign.redisUrl }),
  }
  let killed = 0
  let late = 0
  try {
    while (killed < campaign.kills) {
      // A sync with everything fresh is over too soon to be killed: the world moves between two of them.
      if (killed > 0) sandbox.mutateRandomly(10, campaign.seed * 1_000 + killed + late)
      const workers = Array.from({ length: campaign.workers }, () =>
        start(['sync', ...(late % 2 === 1 ? ['--full'] : [])], env),
      )
      await new Promise((done) => setTimeout(done, 600 + random() * 2_500))
      for (const { child } of workers) {
        if (child.exitCode === null && child.kill('SIGKILL')) killed++
        else late++
      }
      await Promise.all(workers.map(({ ended }) => ended))
      if (late > campaign.kills * 2) break
    }
    const last = start(['sync', '--full'], env)
    await last.ended
    const pool = createTestPool(campaign.databaseUrl, 2)
    try {
      const violations = [...(await differencesFromTruth(pool, sandbox.truthText()))]
      if (last.child.exitCode !== 0)
        violations.push(`the last sync ended with ${last.child.exitCode}: ${last.complaints()}`)
      for (const [name, sql] of doubleChecks) {
        const { rows } = await pool.query<{ what: string }>(sql)
        violations.push(...rows.map(({ what }) => `${name}: ${what}`))
      }
      return { killed, late, violations }
    } finally {
      await pool.end()
    }
  } finally {
    await sandbox.close()
  }
}
