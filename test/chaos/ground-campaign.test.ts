// Changes on real ground that moves: a cluster with `synchronous_commit = off` that crashes, goes back to a copy of its folder
// on a new timeline, or whose database is copied; pushers that are killed; answers that are lost after the effect. The sandbox's
// truth is the judge. Four runs in the suite, 200 with `npm run chaos -- --only ground`.

import { appendFile, cp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { parseJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { sleep } from '../../src/clock.ts'
import { openDatabase } from '../../src/database/database.ts'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { createLogger } from '../../src/log.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { canProgress } from '../../src/outbox/claim.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { projectRecord } from '../../src/sync/records/project.ts'
import { withDatabase } from '../helpers/addresses.ts'
import { buildProgram, type Program, startProgram } from '../helpers/child-program.ts'
import { createTestPool } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { type OwnPostgres, openOwnPostgres } from '../helpers/postgres-server.ts'
import { Planner } from '../outbox/plans.ts'
import { contextFor, createRig, type Rig } from '../outbox/rig.ts'
import type { PushProcessOptions } from './push-process.ts'
import { report } from './report.ts'

const runs = isFull ? 200 : 4
const limits = { timeoutMs: 500, showDelayMs: 150, leaseMs: 1_000, concurrency: 8 }
const grounds = [
  'stays',
  'goes back',
  'is copied, and the original is gone',
  'is copied, and the original lives on',
] as const

let own: OwnPostgres
let program: Program
const log = createLogger('silent')
const outcomes: {
  readonly run: number
  readonly ground: string
  readonly statuses: Record<string, number>
  readonly wrong: string[]
}[] = []

beforeAll(async () => {
  // Nothing but a commit that waits for it writes the log: a crash loses the others.
  own = await openOwnPostgres(join(inject('runFolder'), 'ground'), {
    wal_writer_delay: '10s',
    synchronous_commit: 'off',
    autovacuum: 'off',
  })
  await admin('create database ground_template')
  await migrate(withDatabase(own.url, 'ground_template'))
  await migrateQueue(withDatabase(own.url, 'ground_template'), log)
  program = await buildProgram('test/chaos/push-process.ts')
})
afterAll(async () => {
  report('ground', [
    '| the database | runs | done | unknown | canceled, expired | other | violations |',
    '|---|---|---|---|---|---|---|',
    ...grounds.map((ground) => {
      const of = outcomes.filter((outcome) => outcome.ground === ground)
      const count = (...names: string[]) =>
        of.reduce((sum, { statuses }) => sum + names.reduce((all, name) => all + (statuses[name] ?? 0), 0), 0)
      const all = of.reduce((sum, { statuses }) => sum + Object.values(statuses).reduce((a, b) => a + b, 0), 0)
      const known = count('done') + count('unknown') + count('canceled', 'expired')
      const violations = of.reduce((sum, { wrong }) => sum + wrong.length, 0)
      return `| ${ground} | ${of.length} | ${count('done')} | ${count('unknown')} | ${count('canceled', 'expired')} | ${all - known} | ${violations} |`
    }),
  ])
  await program[Symbol.asyncDispose]()
  await own.close()
})

/** A statement of the administrator, as soon as the server answers. */
async function admin(sql: string, url = own.url): Promise<pg.QueryResult> {
  for (let attempt = 1; ; attempt++) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await client.query(sql)
    } catch (error) {
      if (attempt === 100) throw error
      await sleep(50)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
}

async function crash(): Promise<void> {
  await own.stop('immediate')
  await own.start()
}

/** A copy of the folder, while nobody writes to it. */
async function backUp(folder: string): Promise<void> {
  await own.stop('fast')
  await rm(folder, { recursive: true, force: true })
  await cp(own.folder, folder, { recursive: true, preserveTimestamps: true })
  await own.start()
}

/** The cluster as it was, on a new timeline, as a recovery to a point in time leaves it. */
async function goBack(folder: string): Promise<void> {
  await own.stop('immediate')
  for (const name of await readdir(own.folder)) await rm(join(own.folder, name), { recursive: true, force: true })
  await cp(folder, own.folder, { recursive: true, preserveTimestamps: true })
  await writeFile(join(own.folder, 'recovery.signal'), '')
  await appendFile(join(own.folder, 'postgresql.auto.conf'), "restore_command = 'false'\n")
  await own.adopt()
  await own.start()
  // It can be read before it is on its new timeline.
  await expect.poll(async () => (await admin('select pg_is_in_recovery() as still')).rows[0]?.still).toBe(false)
}

async function startPusher(databaseUrl: string, apiUrl: string) {
  const options: PushProcessOptions = { databaseUrl, apiUrl, ...limits, redisUrl: null, queuePrefix: 'ground' }
  const child = startProgram(program.file, [JSON.stringify(options)])
  await child.nextLine()
  return child
}

/** Puts all records of a stream into the mirror, as a complete sync would. */
async function mirrorAll({ sandbox, database }: Rig, name: string): Promise<void> {
  const stream = streamNamed(name)
  const rows = (sandbox.truth({ only: [name] })[name] ?? []).map(({ key, record }) => {
    const request = Object.fromEntries(Object.entries(key).map(([column, value]) => [column, String(value)]))
    const projected = projectRecord(stream, parseJson(JSON.stringify(record)).value, request, 'UTC')
    if (!projected.ok) throw new Error(projected.reason)
    return projected.row
  })
  const write = { stream, source: 'GET /v3', readAt: new Date(), rows, mode: 'record' } as const
  await database.transaction((client) => applyWrites(client, { tables: [write] }))
}

const links = ['1', '2', '3'].map((step) => `https://example.com/${step}`)

/** Payments, which count, and updates, which must keep their order. */
async function queueAll(rig: Rig, rentals: readonly number[]): Promise<void> {
  for (const [place, rentalId] of rentals.entries()) {
    const line = { currency: 'EUR', method: { id: 1 }, price: 10 + place, reference: `payment of ${rentalId}` }
    await rig.queue('rental_payment.add', { rentalId }, line)
    for (const orderLink of links) await rig.queue('rental.update', { rentalId }, { orderLink })
  }
}

/** What must not be: a second line, a change done without an effect, links out of order. */
function judge(
  rig: Rig,
  rentals: readonly number[],
  rows: readonly { operation: string; target: { rentalId: number }; status: string }[],
): string[] {
  const lines = rig.sandbox.truth({ only: ['rental_payments'] }).rental_payments ?? []
  return rentals.flatMap((rentalId) => {
    const paid = lines.filter(({ record }) => record.reference === `payment of ${rentalId}`).length
    const done = rows.filter(
      ({ operation, target, status }) =>
        operation === 'rental_payment.add' && target.rentalId === rentalId && status === 'done',
    )
    const written = rig
      .writes()
      .filter(({ method, path }) => method === 'PUT' && path === `/v3/rentals/${rentalId}`)
      .map(({ body }) => String((body as { orderLink?: string }).orderLink))
    return [
      ...(paid > 1 ? [`rental ${rentalId} has ${paid} payments`] : []),
      ...(done.length > 0 && paid === 0 ? [`the payment of rental ${rentalId} is done without an effect`] : []),
      ...(written.some((link, place) => place > 0 && link < String(written[place - 1]))
        ? [`rental ${rentalId} was written out of order: ${written.join(', ')}`]
        : []),
    ]
  })
}

const answers = ['dropAfterEffect', 'errorAfterEffect', 'hangAfterEffect', 'hang', 'reset'] as const

it.each(Array.from({ length: runs }, (_, run) => run))('run %i: once, in order, done only if it was', async (run) => {
  const random = ((state) => () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  })(run + 1)
  const ground = grounds[run % grounds.length] ?? 'stays'
  const [name, backup] = [`ground_${run}`, join(inject('runFolder'), 'ground-backup')]
  await admin(`create database ${name} template ground_template`)
  const url = withDatabase(own.url, name)
  const rig = await createRig({ databaseUrl: url, ...limits, settings: limits, sandbox: { size: 30, seed: run } })
  try {
    const planner = new Planner(rig.sandbox)
    const rentals = Array.from({ length: 4 }, () => planner.rental())
    for (const stream of ['rentals', 'rental_payments']) await mirrorAll(rig, stream)
    await admin(
      `insert into sync.runs (stream, trigger, status, finished_at) values ('rentals', 'sync', 'done', clock_timestamp())`,
      url,
    )
    await queueAll(rig, rentals)
    await admin('select outbox.notice_history()', url)
    await admin('begin; set local synchronous_commit = on; select pg_current_xact_id(); commit', url)
    for (const op of ['POST /v3/rentals/{rentalId}/payments', 'PUT /v3/rentals/{rentalId}'])
      rig.sandbox.fault({ op, probability: 0.4, respond: answers[Math.floor(random() * answers.length)] ?? 'reset' })
    if (ground === 'goes back') await backUp(backup)
    if (ground.startsWith('is copied')) await copyDatabase(name)
    const victim = await startPusher(url, rig.sandbox.url)
    for (let kills = random() * 3; kills > 0; kills--) {
      await sleep(200 + random() * 800)
      await crash()
    }
    await sleep(random() * 1_500)
    await victim.end('SIGKILL')
    rig.sandbox.clearFaults()
    const last = await endOn(ground, { rig, url, backup })
    const { rows } = await admin('select operation, target, status from outbox.queue order by id', last)
    const statuses: Record<string, number> = {}
    for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1
    const wrong = judge(rig, rentals, rows)
    if (
      (statuses.queued ?? 0) + (statuses.sending ?? 0) > 0 &&
      statuses.unknown === undefined &&
      statuses.conflict === undefined
    )
      wrong.push(`not everything has ended: ${JSON.stringify(statuses)}`)
    outcomes.push({ run, ground, statuses, wrong })
    expect(wrong).toEqual([])
  } finally {
    await rig[Symbol.asyncDispose]()
    for (const each of [name, `${name}_copy`]) await admin(`drop database if exists ${each} with (force)`)
  }
})

async function copyDatabase(name: string): Promise<void> {
  await admin(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`)
  await admin(`create database ${name}_copy template ${name}`)
}

/** Moves the ground, and lets everything end there. @returns the address of the database that remains */
async function endOn(
  ground: (typeof grounds)[number],
  { rig, url, backup }: { readonly rig: Rig; readonly url: string; readonly backup: string },
): Promise<string> {
  if (ground === 'goes back') {
    const timeline = async () => (await admin('select timeline from sync.history()', url)).rows[0]?.timeline
    const before = await timeline()
    await goBack(backup)
    expect(Number(await timeline())).toBeGreaterThan(Number(before))
  }
  const last = ground.startsWith('is copied') ? `${url}_copy` : url
  if (ground === 'is copied, and the original lives on') await finish(rig, url)
  if (ground.startsWith('is copied')) {
    await finish(rig, last) // nothing that was queued before is sent
    await admin(`select outbox.former_database('${ground.endsWith('gone') ? 'gone' : 'lives'}')`, last)
  }
  await finish(rig, last)
  return last
}

async function finish(rig: Rig, url: string): Promise<void> {
  await admin('select', url)
  const database = openDatabase({ url, applicationName: 'ground', max: 6, log })
  const { context, close } = contextFor({ database, sandbox: rig.sandbox }, { ...limits, settings: limits })
  const pusher = createPusher(context)
  const pool = createTestPool(url, 1)
  try {
    const end = Date.now() + 100_000
    do await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    while ((await canProgress(pool)) && Date.now() < end)
  } finally {
    await pusher.close()
    await close()
    await pool.end()
    await database.close()
  }
}
