// The state of syncs: requests, runs, tasks with leases, what is known of each record, quarantine, what was probed.
// Why: these tables are the truth about what was done and is to be done; a queue job is only a wake-up.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create schema if not exists sync`.execute(db)

  await sql`create table sync.requests (
    id bigint generated always as identity primary key,
    trigger text not null,
    full_read boolean not null default false,
    requested_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz
  )`.execute(db)
  await sql`create index requests_open on sync.requests (id) where finished_at is null`.execute(db)

  await sql`create table sync.runs (
    id bigint generated always as identity primary key,
    stream text not null,
    trigger text not null,
    status text not null default 'running' check (status in ('running', 'done', 'partial', 'held', 'failed')),
    started_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    pages bigint not null default 0,
    requests bigint not null default 0,
    retries bigint not null default 0,
    read bigint not null default 0,
    inserted bigint not null default 0,
    updated bigint not null default 0,
    unchanged bigint not null default 0,
    deleted bigint not null default 0,
    quarantined bigint not null default 0,
    held bigint not null default 0,
    bytes bigint not null default 0,
    error text,
    full_read boolean not null default false,
    phase text not null default 'sweep' check (phase in ('sweep', 'details', 'finished')),
    swept_at timestamptz,
    total bigint,
    plan jsonb,
    warnings jsonb not null default '[]'
  )`.execute(db)
  await sql`create unique index runs_one_at_a_time on sync.runs (stream) where status = 'running'`.execute(db)
  await sql`create index runs_of_stream on sync.runs (stream, id desc)`.execute(db)
  await sql`create index runs_started on sync.runs (started_at)`.execute(db)

  await sql`create table sync.request_streams (
    request_id bigint not null references sync.requests on delete cascade,
    stream text not null,
    run_id bigint references sync.runs on delete set null,
    primary key (request_id, stream)
  )`.execute(db)
  await sql`create index request_streams_run on sync.request_streams (run_id)`.execute(db)

  await sql`create table sync.tasks (
    id bigint generated always as identity primary key,
    run_id bigint not null references sync.runs on delete cascade,
    stream text not null,
    kind text not null,
    payload jsonb not null default '{}',
    status text not null default 'waiting' check (status in ('waiting', 'running', 'done', 'failed')),
    priority int not null default 10,
    owner text,
    fence bigint not null default 0,
    lease_until timestamptz,
    checkpoint jsonb,
    checkpoint_at timestamptz,
    attempts int not null default 0,
    not_before timestamptz not null default '-infinity',
    woken_at timestamptz,
    error text,
    created_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz
  )`.execute(db)
  await sql`create index tasks_open on sync.tasks (priority, id) where status in ('waiting', 'running')`.execute(db)
  await sql`create index tasks_of_run on sync.tasks (run_id, status)`.execute(db)

  await sql`create table sync.streams (
    stream text primary key,
    as_of timestamptz,
    rows bigint not null default 0,
    last_run_id bigint,
    next_due_at timestamptz,
    interval_s numeric,
    target_s numeric
  )`.execute(db)

  await sql`create table sync.endpoints (
    endpoint text primary key,
    calls bigint not null default 0,
    failures bigint not null default 0,
    last_status int,
    last_called_at timestamptz,
    last_error text
  )`.execute(db)

  await sql`create table sync.records (
    stream text not null,
    key text not null,
    list_hash text,
    detail_hash text,
    detail_read_at timestamptz,
    projection int not null default 0,
    changed_at timestamptz not null default clock_timestamp(),
    primary key (stream, key)
  ) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05)`.execute(db)

  await sql`create table sync.sweep_pages (
    run_id bigint not null references sync.runs on delete cascade,
    pass int not null,
    page int not null,
    keys text[] not null,
    primary key (run_id, pass, page)
  )`.execute(db)

  await sql`create table sync.held (
    run_id bigint not null references sync.runs on delete cascade,
    key text not null,
    released_at timestamptz,
    primary key (run_id, key)
  )`.execute(db)

  await sql`create table sync.quarantine (
    id bigint generated always as identity primary key,
    stream text not null,
    key text not null,
    endpoint text not null,
    payload jsonb not null,
    reason text not null,
    first_seen_at timestamptz not null default clock_timestamp(),
    last_seen_at timestamptz not null default clock_timestamp(),
    times bigint not null default 1,
    request jsonb not null default '{}',
    unique (stream, key)
  )`.execute(db)

  await sql`create table sync.unknown_fields (
    stream text not null,
    path text not null,
    first_seen_at timestamptz not null default clock_timestamp(),
    last_seen_at timestamptz not null default clock_timestamp(),
    times bigint not null default 1,
    sample jsonb,
    primary key (stream, path)
  )`.execute(db)

  await sql`create table sync.pinned (
    key text primary key,
    value jsonb not null,
    probed_at timestamptz not null default clock_timestamp(),
    contradicted_at timestamptz,
    contradiction text
  )`.execute(db)

  await sql`create table sync.gate (
    id text primary key,
    state jsonb not null,
    updated_at timestamptz not null default clock_timestamp()
  )`.execute(db)

  // Columns as the rate-limiter-flexible library expects them.
  await sql`create unlogged table sync.rate_limit (
    key varchar(255) primary key,
    points integer not null default 0,
    expire bigint
  )`.execute(db)
}
