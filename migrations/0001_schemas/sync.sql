-- Schema sync: requests, runs, tasks with leases, what is known of each record, quarantine, what was probed. These tables are the
-- truth about what was done and what is to be done; a queue job is only a wake-up.

create schema if not exists sync;

-- What migrate keeps besides the names of the migrations: the version of the repeatable steps that was applied.
create table sync.repeatable (
  only_row boolean primary key default true check (only_row),
  version text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- A table, since views run in whatever session asks, and only the program knows its settings.
create table sync.settings (
  only_row boolean primary key default true check (only_row),
  time_zone text not null default 'UTC',
  outbox_limit int check (outbox_limit > 0),
  api text, -- which API the mirror is of: its ids mean nothing at another one
  not_taking_place text[] not null default '{}'
);
insert into sync.settings default values;


-- Requests, runs and tasks

create table sync.requests (
  id bigint generated always as identity primary key,
  trigger text not null,
  full_read boolean not null default false,
  requested_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  hot boolean not null default false,
  stream text,
  record_key text,
  role text,
  error text
);
create index requests_open on sync.requests (id) where finished_at is null;
create unique index requests_one_refresh on sync.requests (stream, (coalesce(record_key, '')))
  where stream is not null and finished_at is null;
create index requests_of_role on sync.requests (role, requested_at) where role is not null;

-- The running run is rewritten by each commit, in a table of HISTORY_DAYS: room on the page saves its indexes the new place. Where
-- a table keeps much and rewrites its newest rows, vacuum goes by their number: a fifth of the table, Postgres's own measure, is
-- months of dead rows.
create table sync.runs (
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
  warnings jsonb not null default '[]',
  hot boolean not null default false,
  unexpected bigint not null default 0,
  record_key text
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- A run of one record is no run of its stream: it may stand beside a complete one.
create unique index runs_one_at_a_time on sync.runs (stream, hot) where status = 'running' and record_key is null;
create index runs_of_stream on sync.runs (stream, id desc);
create index runs_started on sync.runs (started_at);
create index runs_running on sync.runs (id) where status = 'running';
create index runs_held on sync.runs (id) where status = 'held';

create table sync.request_streams (
  request_id bigint not null references sync.requests on delete cascade,
  stream text not null,
  run_id bigint references sync.runs on delete set null,
  primary key (request_id, stream)
);
create index request_streams_run on sync.request_streams (run_id);

-- Claimed, renewed and given checkpoints many times, then kept for a day.
create table sync.tasks (
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
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index tasks_open on sync.tasks (priority, id) where status in ('waiting', 'running');
create index tasks_of_run on sync.tasks (run_id, status);


-- Streams and their records

create table sync.streams (
  stream text primary key,
  as_of timestamptz,
  rows bigint not null default 0,
  last_run_id bigint,
  next_due_at timestamptz,
  interval_s numeric,
  target_s numeric,
  hot_as_of timestamptz,
  hot_next_due_at timestamptz,
  hot_interval_s numeric,
  rows_proven_at timestamptz,
  max_age_s numeric,
  soon_max_age_s numeric,
  paused_by bigint
);

-- Rows are counted by differences, added up at the end of a run: counting ten million takes seconds, and a counter that each
-- commit writes to is a queue.
create table sync.row_changes (
  id bigint generated always as identity primary key,
  stream text not null,
  difference bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table sync.records (
  stream text not null,
  key text not null,
  list_hash text,
  detail_hash text,
  detail_read_at timestamptz,
  projection int not null default 0,
  changed_at timestamptz not null default clock_timestamp(),
  listed_at timestamptz,
  partly boolean,
  primary key (stream, key)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
-- The time first: nobody is to look up a stream's keys by it, whatever Postgres knows of the table.
create index records_lately on sync.records (greatest(changed_at, listed_at), stream);
-- Each key has one of 32 ages (src/sync/due/ages.ts): of each, what was read longest ago comes first.
create index records_read on sync.records (stream, (get_byte(decode(md5(key), 'hex'), 0) & 31), detail_read_at)
  where detail_read_at is not null;

create table sync.held (
  run_id bigint not null references sync.runs on delete cascade,
  key text not null,
  released_at timestamptz,
  primary key (run_id, key)
);

create table sync.quarantine (
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
);

create table sync.unknown_fields (
  stream text not null,
  path text not null,
  first_seen_at timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  times bigint not null default 1,
  sample jsonb,
  primary key (stream, path)
);


-- Sweeps: whole ones come and go. Their end is compared range by range, as a list of two million in one statement takes longer
-- than a statement may.

create table sync.sweep_pages (
  run_id bigint not null references sync.runs on delete cascade,
  pass int not null,
  page int not null,
  keys text[] not null,
  primary key (run_id, pass, page)
) with (autovacuum_vacuum_scale_factor = 0.05);

create table sync.sweep_ranges (
  run_id bigint not null references sync.runs on delete cascade,
  range int not null,
  begins text,
  missing text[] not null default '{}',
  primary key (run_id, range)
);

create table sync.sweep_parts (
  run_id bigint not null references sync.runs on delete cascade,
  range int not null,
  pass int not null,
  page int not null,
  keys text[] not null,
  primary key (run_id, range, pass, page)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);


-- What is known of the API and its answers

create table sync.endpoints (
  endpoint text primary key,
  calls bigint not null default 0,
  failures bigint not null default 0,
  last_status int,
  last_called_at timestamptz,
  last_error text,
  last_status_since timestamptz
);

create table sync.reads (
  endpoint text primary key,
  same_as text not null,
  state text not null default 'learning' check (state in ('learning', 'redundant', 'needed')),
  compared bigint not null default 0,
  differed bigint not null default 0,
  skipped bigint not null default 0,
  since timestamptz not null default clock_timestamp(),
  sampled_at timestamptz
);

create table sync.pinned (
  key text primary key,
  value jsonb not null,
  probed_at timestamptz not null default clock_timestamp(),
  contradicted_at timestamptz,
  contradiction text
);

-- Answers with entity tags, which are asked for again with them: replaced as often as the answers change.
create table sync.list_pages (
  stream text not null,
  name text not null,
  tag text not null,
  keys text[] not null,
  hash text not null,
  next text not null,
  read_at timestamptz not null default clock_timestamp(),
  primary key (stream, name)
) with (autovacuum_vacuum_scale_factor = 0.05);

create table sync.detail_tags (
  stream text not null,
  key text not null,
  detail_hash text not null,
  answers jsonb not null,
  read_at timestamptz not null default clock_timestamp(),
  primary key (stream, key)
) with (autovacuum_vacuum_scale_factor = 0.05);

-- Calls by minute and endpoint over all workers. Only the newest minute is rewritten, of a week.
create table sync.traffic (
  minute timestamptz not null,
  endpoint text not null,
  calls bigint not null default 0,
  failures bigint not null default 0,
  throttled bigint not null default 0,
  total_ms double precision not null default 0,
  slowest_ms double precision not null default 0,
  primary key (minute, endpoint)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create table sync.gate (
  id text primary key,
  state jsonb not null,
  updated_at timestamptz not null default clock_timestamp()
);

-- What was taken from API_QUOTA: totals since the beginning, so that what was taken within any time is the difference of two rows.
-- The row of the present minute is rewritten with each loan.
create table sync.request_counts (
  minute timestamptz primary key,
  total bigint not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- The instants of the request budget: sequences are changed in place, rows leave versions behind.
create sequence sync.requests_lent_until;
create sequence sync.changes_wait_until;
create sequence sync.reads_wait_until;
create sequence sync.details_lent_until;
create sequence sync.details_paced_until;


-- Personal data: the settings by which the stored values were protected, and who is erased

create table sync.privacy (
  only_row boolean primary key default true check (only_row),
  mode text not null default 'keep' check (mode in ('keep', 'hash', 'drop')),
  columns jsonb not null default '{}',
  key_fingerprint text,
  generation bigint not null default 0,
  set_at timestamptz,
  applying jsonb
);
insert into sync.privacy default values;

create table sync.erased (
  stream text not null,
  key text not null,
  erased_at timestamptz not null default clock_timestamp(),
  primary key (stream, key)
);


-- Partners, and what was decided

-- A partner is a role: `partner` is the key by which rows name their owner, and stays when the role is renamed.
create table sync.partners (
  partner name primary key,
  name name not null,
  role oid,
  cluster text,
  gone_at timestamptz
);
create unique index partners_role on sync.partners (role, cluster);
create index partners_name on sync.partners (name);

create table sync.decisions (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  who text not null,
  via text not null check (via in ('sql', 'command', 'library', 'page')),
  what text not null check (what in
    ('retry', 'cancel', 'local', 'remote', 'took_effect', 'did_not', 'release', 'pause', 'resume', 'former_gone', 'former_lives',
      'hand_over', 'acknowledge')),
  target text not null,
  plan text not null,
  result_id bigint,
  done_at timestamptz,
  error text,
  -- A plan holds the number of decisions before it, so nothing is decided twice, whoever asks at the same moment.
  unique (target, plan)
);
create index decisions_open on sync.decisions (id) where done_at is null;


-- Who may use `serve`, and which resources are more than one boat

create table sync.access_tokens (
  id bigint generated always as identity primary key,
  name text not null,
  hash bytea not null,
  role text not null unique,
  companies bigint[] check (cardinality(companies) > 0),
  personal boolean not null,
  write boolean not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz
);
create unique index access_tokens_name on sync.access_tokens (name) where revoked_at is null;

create table sync.calendar_keys (
  resource_id text primary key,
  hash bytea not null,
  created_at timestamptz not null default clock_timestamp()
);

-- Slots are deleted when their day has passed, and what they showed is needed later.
create table sync.fleets (
  resource_id text primary key,
  seen_at timestamptz not null default clock_timestamp()
);


-- Workers and servers, and what workers send of themselves

create table sync.workers (
  id text primary key,
  host text not null,
  pid int not null,
  version text not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  doing text
);

-- The processes that serve the API, for the status page: any process may serve, and only it counts what it answers.
create table sync.servers (
  id text primary key,
  host text not null,
  pid int not null,
  version text not null,
  address text not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  requests bigint not null,
  recent_requests bigint not null,
  recent_refused bigint not null,
  recent_failed bigint not null,
  recent_mean_ms double precision,
  recent_slowest_ms double precision,
  recent_oldest_s double precision
);

-- How long each stream met its target, day by day. A worker rewrites the newest row of each stream every minute: room on the page
-- saves the index the new place.
create table sync.freshness_days (
  stream text not null,
  day date not null,
  looked_at timestamptz not null,
  counted integer not null default 0,
  counts_from timestamptz,
  met integer not null default 0,
  missed_from timestamptz,
  longest_gap integer not null default 0,
  primary key (stream, day)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create table sync.senders (
  name text primary key check (name in ('webhook', 'alert', 'log')),
  owner text,
  lease_until timestamptz,
  fence bigint not null default 0,
  address text,
  attempts integer not null default 0,
  failing_since timestamptz,
  next_attempt_at timestamptz,
  last_error text,
  delivered bigint not null default 0,
  delivered_at timestamptz
);

-- The message on its way: a repeat after a lost answer must be the same message, whichever worker makes it.
create table sync.webhook_batch (
  id text primary key,
  only_one boolean not null default true unique check (only_one),
  after_cursor text,
  end_cursor text not null,
  changes integer not null,
  body text not null,
  made_at timestamptz not null default clock_timestamp()
);

-- The attempts to deliver calls of the webhook, for the person who operates it.
create table sync.webhook_deliveries (
  id bigint generated always as identity primary key,
  sent_at timestamptz not null default clock_timestamp(),
  message_id text not null,
  changes integer not null,
  status integer,
  duration_ms integer not null,
  error text,
  after_cursor text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- A restart, or another worker, must neither repeat a message nor forget to say that a matter is over.
create table sync.alerts (
  kind text not null,
  about text not null,
  since timestamptz not null,
  told boolean not null default false,
  gone_since timestamptz,
  primary key (kind, about)
);


-- The change feed: its consumers, with the place in its parts, so that what retention takes can be compared with it.

create table sync.consumer_positions (
  name text primary key,
  role text not null,
  epoch bigint,
  xid xid8,
  seq bigint,
  registered_at timestamptz not null default clock_timestamp(),
  acked_at timestamptz,
  lost boolean not null default false
);

create table sync.log_identity (
  only_row boolean primary key default true check (only_row),
  number bigint not null,
  folder text -- tells a copied folder of the embedded Postgres from the original
);
