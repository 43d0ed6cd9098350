// The tables of schema `sync` and the change log as Kysely sees them. Types only; the tables are made by migrations.

import type { ColumnType, Generated, GeneratedAlways, JSONColumnType } from 'kysely'

/** A bigint: text when read, text or a number when written. */
type Big = ColumnType<string, string | number, string | number>
type BigWithDefault = ColumnType<string, string | number | undefined, string | number>
type Instant = ColumnType<Date, Date | string, Date | string>
type InstantOrNull = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
type InstantWithDefault = ColumnType<Date, Date | string | undefined, Date | string>
/** Written as JSON text, read as a value. */
type Json = ColumnType<unknown, string, string>
type JsonOrNull = ColumnType<unknown, string | null | undefined, string | null>
type JsonWithDefault = ColumnType<unknown, string | undefined, string>

export type RunStatus = 'running' | 'done' | 'partial' | 'held' | 'failed'

export type MirrorSchema = {
  'sync.requests': {
    id: GeneratedAlways<string>
    trigger: string
    full_read: Generated<boolean>
    requested_at: InstantWithDefault
    finished_at: InstantOrNull
  }
  'sync.request_streams': { request_id: Big; stream: string; run_id: Big | null }
  'sync.runs': {
    id: GeneratedAlways<string>
    stream: string
    trigger: string
    status: Generated<RunStatus>
    started_at: InstantWithDefault
    finished_at: InstantOrNull
    pages: BigWithDefault
    requests: BigWithDefault
    retries: BigWithDefault
    read: BigWithDefault
    inserted: BigWithDefault
    updated: BigWithDefault
    unchanged: BigWithDefault
    deleted: BigWithDefault
    quarantined: BigWithDefault
    held: BigWithDefault
    bytes: BigWithDefault
    error: string | null
    full_read: Generated<boolean>
    phase: Generated<'sweep' | 'details' | 'finished'>
    swept_at: InstantOrNull
    total: Big | null
    plan: JsonOrNull
    warnings: JSONColumnType<string[], string | undefined, string>
  }
  'sync.tasks': {
    id: GeneratedAlways<string>
    run_id: Big
    stream: string
    kind: string
    payload: JsonWithDefault
    status: Generated<'waiting' | 'running' | 'done' | 'failed'>
    priority: Generated<number>
    owner: string | null
    fence: BigWithDefault
    lease_until: InstantOrNull
    checkpoint: JsonOrNull
    checkpoint_at: InstantOrNull
    attempts: Generated<number>
    not_before: InstantWithDefault
    woken_at: InstantOrNull
    error: string | null
    created_at: InstantWithDefault
    finished_at: InstantOrNull
  }
  'sync.streams': {
    stream: string
    as_of: InstantOrNull
    rows: BigWithDefault
    last_run_id: Big | null
    next_due_at: InstantOrNull
    interval_s: ColumnType<string | null, string | number | null | undefined, string | number | null>
    target_s: ColumnType<string | null, string | number | null | undefined, string | number | null>
  }
  'sync.endpoints': {
    endpoint: string
    calls: BigWithDefault
    failures: BigWithDefault
    last_status: number | null
    last_called_at: InstantOrNull
    last_error: string | null
  }
  'sync.records': {
    stream: string
    key: string
    list_hash: string | null
    detail_hash: string | null
    detail_read_at: InstantOrNull
    projection: Generated<number>
    changed_at: InstantWithDefault
  }
  'sync.sweep_pages': { run_id: Big; pass: number; page: number; keys: string[] }
  'sync.held': { run_id: Big; key: string; released_at: InstantOrNull }
  'sync.quarantine': {
    id: GeneratedAlways<string>
    stream: string
    key: string
    endpoint: string
    payload: Json
    reason: string
    first_seen_at: InstantWithDefault
    last_seen_at: InstantWithDefault
    times: BigWithDefault
    request: JsonWithDefault
  }
  'sync.unknown_fields': {
    stream: string
    path: string
    first_seen_at: InstantWithDefault
    last_seen_at: InstantWithDefault
    times: BigWithDefault
    sample: JsonOrNull
  }
  'sync.pinned': {
    key: string
    value: Json
    probed_at: InstantWithDefault
    contradicted_at: InstantOrNull
    contradiction: string | null
  }
  'sync.gate': { id: string; state: Json; updated_at: InstantWithDefault }
  'mirror.change_log': {
    seq: GeneratedAlways<string>
    stream: string
    key: Json
    operation: 'insert' | 'update' | 'delete'
    changed_at: Instant
    diff: Json
  }
}
