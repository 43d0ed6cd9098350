-- Replaces the content of outbox.operations; $1 is its rows as JSON text.

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
    excluded.target, excluded.body, excluded.key, excluded.source)
