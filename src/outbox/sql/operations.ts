// outbox.operations filled from the catalog, and who may do what with the outbox.

import { streamNamed } from '../../catalog/catalog.ts'
import type { WriteDef } from '../../catalog/types.ts'
import { targetResults, writes } from '../../catalog/writes.ts'

/** One row of outbox.operations. */
export type OperationRow = {
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly kind: string
  readonly stream: string
  readonly aggregate: string
  readonly target: readonly object[]
  readonly body: readonly object[]
  readonly key: readonly { readonly column: string; readonly param: string }[]
  readonly source: string
}

/** A write operation as SQL reads it: targets are fields like those of a body, all of them required. */
export function operationRow(write: WriteDef): OperationRow {
  const [method = '', path = ''] = write.endpoint.split(' ')
  const params = Object.keys(write.target)
  return {
    operation: write.operation,
    method,
    path,
    kind: write.kind,
    stream: write.stream,
    aggregate: write.aggregate,
    target: Object.entries(write.target).map(([name, type]) => {
      const maker = targetResults[name]
      return { name, type, required: true, ...(maker === undefined ? {} : { result: [maker] }) }
    }),
    body: write.body,
    key: streamNamed(write.stream).key.flatMap((column, index) => {
      const param = params[index]
      return param === undefined ? [] : [{ column, param }]
    }),
    source: write.source,
  }
}

/** Replaces the content of outbox.operations; `$1` is the JSON text of {@link operationRows}. */
export const outboxOperations = `
with given as (
  select * from jsonb_to_recordset($1::jsonb) as list (operation text, method text, path text, kind text, stream text,
    aggregate text, target jsonb, body jsonb, key jsonb, source text)
), gone as (
  delete from outbox.operations o where not exists (select from given g where g.operation = o.operation)
)
insert into outbox.operations as o select * from given
on conflict (operation) do update set method = excluded.method, path = excluded.path, kind = excluded.kind,
  stream = excluded.stream, aggregate = excluded.aggregate, target = excluded.target, body = excluded.body,
  key = excluded.key, source = excluded.source
where (o.method, o.path, o.kind, o.stream, o.aggregate, o.target, o.body, o.key, o.source)
  is distinct from (excluded.method, excluded.path, excluded.kind, excluded.stream, excluded.aggregate,
    excluded.target, excluded.body, excluded.key, excluded.source)`

/** The rows of outbox.operations. */
export const operationRows: readonly OperationRow[] = writes.map(operationRow)

/** Nothing of the outbox is public; boat_mirror_enqueue may queue changes and see its own. */
export const outboxGrants = `
revoke all on all functions in schema outbox from public;
revoke all on all tables in schema outbox from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'boat_mirror_enqueue') then
    grant usage on schema outbox to boat_mirror_enqueue;
    grant execute on function outbox.enqueue(text, jsonb, jsonb, jsonb) to boat_mirror_enqueue;
    grant select on outbox.changes to boat_mirror_enqueue;
  end if;
  if exists (select from pg_roles where rolname = 'boat_mirror_partner') then
    grant select on mirror.rentals_local to boat_mirror_partner;
  end if;
end $$;
`
