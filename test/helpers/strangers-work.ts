// What the program and its partners do in a database where others have made objects (strangers.ts).

import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { streams } from '../../src/catalog/catalog.ts'
import { reportViews } from '../../src/reports/report-views.ts'
import { openCommandLine } from '../cli/program.ts'
import { Planner } from '../outbox/plans.ts'
import type { TestDatabase } from './database.ts'

export type Work = AsyncDisposable & {
  readonly sandbox: Sandbox
  /** Runs a command to its end, which must be a good one. */
  run(command: string): Promise<void>
  /** Queues a change, reads every view and calls every function for partners, with a path on which strangers come first. */
  asPartner(): Promise<void>
}

/** `url`: how the program comes to the database, otherwise the address of the database. */
export async function openWork(database: TestDatabase, url = database.url): Promise<Work> {
  const sandbox = await createSandbox({ size: 4 })
  const planner = new Planner(sandbox)
  const role = `partner_${randomBytes(6).toString('hex')}`
  const cli = await openCommandLine({
    DATABASE_URL: url,
    API_BASE_URL: sandbox.url,
    API_AUTH: 'none',
    API_RATE_LIMIT: '0',
    PRICE_DAYS: '3',
    SLOT_DAYS: '1',
    CALENDAR_YEARS: '1',
  })
  return {
    sandbox,
    run: async (command) => {
      const { code, stdout, stderr } = await cli.run(command.split(' '))
      if (code !== 0) throw new Error(`${command} ended with ${code}: ${stdout}${stderr}`)
    },
    asPartner: async () => {
      await database.pool.query(
        `create role ${role} login password 'x' in role boat_mirror_partner, boat_mirror_enqueue, boat_mirror_operator`,
      )
      const address = Object.assign(new URL(database.url), { username: role, password: 'x' }).href
      const client = new Client({ connectionString: address })
      await client.connect()
      try {
        const key = { id: planner.rental() }
        await client.query('select outbox.enqueue($1, $2, $3)', [
          'rental.update',
          { rentalId: key.id },
          { orderLink: 'https://example.com/1' },
        ])
        for (const view of [
          ...reportViews.map(({ name }) => `report.${name}`),
          ...streams.map(({ name }) => `live.${name}`),
          ...[
            'mirror.changes',
            'mirror.rentals_local',
            'outbox.changes',
            'sync.held_plans',
            'sync.stream_plans',
            'sync.consumers',
          ],
        ])
          await client.query(`table ${view}`)
        await client.query('select * from mirror.changes_since(null, 50)')
        await client.query(`select * from mirror.next_changes('planted', 50)`)
        await client.query(`select mirror.reset_consumer('planted')`)
        await client.query('select * from mirror.history($1, $2)', ['rentals', key])
        await client.query('select mirror.record_at($1, $2, $3)', ['rentals', key, new Date()])
        const moment = '(select changed_at from mirror.changes order by seq limit 1)'
        await client.query(`select * from mirror.as_of('rentals', ${moment})`)
        await client.query(`select * from report.rentals_as_of(${moment})`)
        await client.query('select mirror.refresh($1, $2)', ['rentals', key])
        await client.query(`select * from report.calendar('2026-11-01', '2026-11-03')`)
      } finally {
        await client.end()
      }
    },
    [Symbol.asyncDispose]: async () => {
      await cli[Symbol.asyncDispose]()
      await sandbox.close()
      await database.pool.query(`do $$ begin if to_regrole('${role}') is not null then
        execute 'drop owned by ${role}'; execute 'drop role ${role}'; end if; end $$`)
    },
  }
}
