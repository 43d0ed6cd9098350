-- Schema company_access: which roles see which companies alone. Readers may not use it: functions there tell to whom a record
-- belongs.

create schema if not exists company_access;

create table company_access.grants (
  role text primary key,
  companies bigint[] not null check (cardinality(companies) > 0),
  granted_at timestamptz not null default clock_timestamp()
);
