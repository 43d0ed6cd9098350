// One partner has queued thousands of changes, another one queues a single change: how soon is that sent?

import { Client } from 'pg'
import { sleep } from '../../src/clock.ts'
import { prepared } from '../prepared.ts'
import { start } from '../processes.ts'
import type { Programs } from '../programs.ts'
import type { PushOptions } from '../push-process.ts'
import { type Databases, openWorld } from '../world.ts'

export type PartnersResult = {
  readonly queued: number
  /** Of the first partner, when the last single change was sent. */
  readonly left: number
  /** From the commit of each single change until its request was sent, in milliseconds. */
  readonly sentAfterMs: readonly number[]
}

const rentals = 500
const singles = 5
const password = 'of a bench'
/** The first partner's changes are of the first rentals, the other's of the last ones: those of one rental go one after the other. */
const enqueue = (
  order: 'asc' | 'desc',
): string => `select outbox.enqueue('rental_crew_member.add', jsonb_build_object('rentalId', id), jsonb_build_object('firstName', 'First', 'lastName', 'Last', 'type', 'ADULT')) as id
  from (select id from mirror.rentals where status = 'VALIDATED' order by id ${order} limit $1) r`

/** Queues so many changes in one role, and single ones in another while they are sent. */
export async function measurePartners(
  queued: number,
  { databases, programs }: { readonly databases: Databases; readonly programs: Programs },
): Promise<PartnersResult> {
  const world = await openWorld(rentals)
  const database = await prepared({ databases, programs, world }, ['rentals'])
  const admin = new Client({ connectionString: database })
  await admin.connect()
  const options: PushOptions = { apiUrl: world.url, env: { DATABASE_URL: database } }
  let worker: ReturnType<typeof start> | undefined
  const partners: Client[] = []
  try {
    for (const role of ['scale_many', 'scale_single']) {
      await admin.query(`create role ${role} login password '${password}'`)
      await admin.query(`grant boat_mirror_enqueue, boat_mirror_partner to ${role}`)
      const url = Object.assign(new URL(database), { username: role, password })
      const client = new Client({ connectionString: url.href })
      await client.connect()
      partners.push(client)
    }
    const [many, single] = partners
    if (many === undefined || single === undefined) throw new Error('There are two partners.')
    for (let left = queued; left > 0; )
      left -= (await many.query(enqueue('asc'), [Math.min(left, rentals / 5)])).rowCount ?? left
    worker = start(programs.push, [JSON.stringify(options)])
    await worker.next()
    const sentAfterMs: number[] = []
    for (let sample = 0; sample < singles; sample++) {
      const { rows } = await single.query<{ id: string }>(enqueue('desc'), [1])
      sentAfterMs.push(await sentAfter(admin, rows[0]?.id ?? ''))
    }
    const { rows } = await admin.query<{ left: number }>(
      `select count(*)::int as left from outbox.queue where enqueued_by = 'scale_many' and settled_at is null`,
    )
    return { queued, left: rows[0]?.left ?? 0, sentAfterMs }
  } finally {
    await worker?.end()
    for (const client of partners) await client.end()
    await admin.end()
    await world.close()
    await databases.drop(database)
  }
}

async function sentAfter(admin: Client, id: string): Promise<number> {
  for (;;) {
    const { rows } = await admin.query<{ ms: number | null }>(
      'select (extract(epoch from sent_at - enqueued_at) * 1000)::float8 as ms from outbox.queue where id = $1',
      [id],
    )
    const ms = rows[0]?.ms
    if (ms != null) return ms
    await sleep(20)
  }
}
