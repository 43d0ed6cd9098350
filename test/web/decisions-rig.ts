// A mirror in which something needs a decision: a conflict, a refused and an unknown change, held deletions.

import type { TestMirror } from '../helpers/mirror.ts'

export type Waiting = {
  readonly conflict: string
  readonly failed: string
  readonly unknown: string
  readonly queued: string
  readonly run: string
  /** Keys of the rentals whose deletion is held. */
  readonly keys: readonly string[]
}

/** Puts it there, as pusher and sync would. */
export async function letWait({ app, sandbox }: TestMirror): Promise<Waiting> {
  const { pool } = app.database
  const { rows } = await pool.query<{ id: string }>(
    'select id::text from mirror.rentals where _deleted_at is null order by id limit 8',
  )
  const [first = '', second = '', third = '', fourth = '', ...keys] = rows.map(({ id }) => id)
  const change = async (operation: string, rental: string, body: object, more: object): Promise<string> => {
    const values: Record<string, unknown> = { status: 'queued', conflict: null, error: null, response: null, ...more }
    const inserted = await pool.query<{ id: string }>(
      `insert into outbox.queue (operation, target, body, aggregate, enqueued_by, status, conflict, error, response, settled_at)
       values ($1, $2, $3, $4, current_user, $5, $6, $7, $8, case when $5 <> 'queued' then now() end) returning id::text`,
      [
        ...[operation, { rentalId: Number(rental) }, body, `rental:${rental}`],
        ...[values.status, values.conflict, values.error, values.response],
      ],
    )
    return inserted.rows[0]?.id ?? ''
  }
  const link = (of: string): string => `https://example.com/${of}`
  const both = { orderLink: { base: link('before'), local: link('ours'), remote: link('theirs') } }
  sandbox.mutate([{ record: 'rentals', op: 'update', id: first, set: { orderLink: link('theirs') } }])
  const conflict = await change(
    'rental.update',
    first,
    { orderLink: link('ours') },
    { status: 'conflict', conflict: both },
  )
  const failed = await change(
    'rental.update',
    second,
    { orderLink: link('refused') },
    { status: 'failed', error: 'The API refused it.' },
  )
  const payment = { currency: 'EUR', method: { id: 1 }, price: 10, reference: 'twice' }
  const response = {
    candidates: [
      { id: 501, price: 10 },
      { id: 502, price: 10 },
    ],
  }
  const unknown = await change('rental_payment.add', third, payment, { status: 'unknown', response })
  // Not sent while a test reads the page.
  const queued = await change('rental.update', fourth, { orderLink: link('later') }, {})
  await pool.query(`update outbox.queue set next_attempt_at = now() + interval '1 day' where id = $1`, [queued])
  const { rows: runs } = await pool.query<{ id: string }>(
    `insert into sync.runs (stream, trigger, status, held, phase, finished_at, plan)
     values ('rentals', 'schedule', 'held', $1, 'finished', now(),
       '{"reason": "More records are missing than DELETE_LIMIT allows.", "missing": 4}') returning id::text`,
    [keys.length],
  )
  const run = runs[0]?.id ?? ''
  await pool.query('insert into sync.held (run_id, key) select $1, unnest($2::text[])', [run, keys])
  await pool.query('update sync.streams set last_run_id = $1 where stream = $2', [run, 'rentals'])
  return { conflict, failed, unknown, queued, run, keys }
}
