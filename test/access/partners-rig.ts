// A mirror whose partners are created, renamed, dropped and restored with it.

import type { QueryResultRow } from 'pg'
import { asRole, stateOf } from '../helpers/roles.ts'
import { type Mirror, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

export type Partners = AsyncDisposable & {
  readonly mirror: Mirror
  /** The name of a role here: roles belong to the cluster. */
  role(name: string): string
  create(name: string): Promise<unknown>
  rename(name: string, to: string): Promise<unknown>
  drop(name: string): Promise<unknown>
  /** Rows of a statement of a role, committed, or the SQLSTATE of its refusal. */
  as<Row extends QueryResultRow>(name: string, sql: string, values?: unknown[]): Promise<Row[] | string>
  /** What a worker does before each claim. */
  notice(): Promise<unknown>
  /** The same database in another cluster, which has these roles alone, all of them new. */
  restore(names: readonly string[]): Promise<void>
}

/** Opens a mirror with a rental in each of two companies. */
export async function openPartners(): Promise<Partners> {
  const mark = Math.random().toString(36).slice(2, 8)
  const mirror = await openMirror()
  await mirror.write({
    tables: [tableOf('rentals', 1, [rowOf('rentals', { id: 10 }), rowOf('rentals', { id: 20 })])],
  })
  await mirror.all('update mirror.rentals set company_id = id / 10')
  const role = (name: string): string => `${name}_${mark}`
  const mine = async (): Promise<readonly string[]> =>
    (await mirror.all<{ name: string }>(`select rolname as name from pg_roles where rolname like '%\\_${mark}'`)).map(
      ({ name }) => name,
    )
  const dropAll = async (): Promise<void> => {
    for (const name of await mine()) await mirror.all(`drop role ${name}`)
  }
  const create = (name: string): Promise<unknown> =>
    mirror.all(`create role ${role(name)} in role boat_mirror_enqueue, boat_mirror_partner`)
  let clusters = 0
  return {
    mirror,
    role,
    create,
    rename: (name, to) => mirror.all(`alter role ${role(name)} rename to ${role(to)}`),
    drop: (name) => mirror.all(`drop role ${role(name)}`),
    as: (name, sql, values) =>
      asRole(mirror.db.pool, role(name), async (client) => (await client.query(sql, values)).rows).catch(stateOf),
    notice: () => mirror.all('select outbox.notice_history()'),
    restore: async (names) => {
      await dropAll()
      clusters++
      await mirror.all(`create or replace function company_access.cluster() returns text language sql stable
        as $$ select '${clusters}' $$`)
      for (const name of names) await create(name)
    },
    [Symbol.asyncDispose]: async () => {
      await dropAll()
      await mirror[Symbol.asyncDispose]()
    },
  }
}
