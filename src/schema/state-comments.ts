// The comments on the schemas, the tables of `sync`, the change log and its functions, as they appear in the
// database.

import { readEndpoints } from '../catalog/catalog.ts'

/** Object as in `comment on …` → its meaning. */
export const syncComments: Readonly<Record<string, string>> = {
  'schema mirror': 'Every record of the boat-rental API, one table for each record type.',
  'schema mirror_log':
    'The partitions of mirror.change_log, one a month, and what the view mirror.changes calls. For nobody but the owner.',
  'schema mirror_views': 'The tables of mirror without documents, personal columns and payloads that hold a person.',
  'schema live':
    'The tables of mirror without what is gone, and with currencies as codes. Columns that hold a person are granted to boat_mirror_partner alone.',
  'schema sync': 'What the program knows about reading: runs, tasks, freshness, quarantine.',
  'schema report': 'Views for people: live rows only.',
  'schema outbox': 'Changes on their way to the API.',
  'schema company_access':
    'Which roles see which companies alone: `boat-mirror access`. Nobody but the owner may use it by name.',

  'table company_access.grants':
    'The roles whose access is restricted, and the companies that they and their members see.',
  'column company_access.grants.role': 'Name of the role.',
  'column company_access.grants.companies': 'mirror.companies.id of each company that it sees.',
  'column company_access.grants.granted_at': 'When this was last said.',

  'table mirror.change_log':
    'One row for each change of a mirror row, written in the same transaction. Read it by mirror.changes_since, or by the view mirror.changes.',
  'column mirror.change_log.seq': 'Number in order of writing; not in order of commit.',
  'column mirror.change_log.epoch': 'Which cluster, timeline and database the transaction id belongs to.',
  'column mirror.change_log.xid': 'The transaction that wrote the row.',
  'column mirror.change_log.stream': 'The table, without its schema.',
  'column mirror.change_log.key': 'The key columns, as an object.',
  'column mirror.change_log.operation': 'insert (a revival too), update or delete.',
  'column mirror.change_log.changed_at': 'Database clock when the row was written.',
  'column mirror.change_log.diff':
    'What the change says besides its row and later changes; mirror.changes and mirror.changes_since tell the whole.',
  'column mirror.change_log.whole':
    'False: the first entry of a key, completed from later ones and the row when it is read.',
  'function mirror.changes_since(text, int)':
    'Changes after a cursor (null: from the beginning), at most max_rows. Keep the cursor of the last row and pass it next time. Skips nothing that commits late: it stops below the oldest running transaction. After a restore into another cluster it starts from the beginning.',
  'function mirror.read_change_log(text, int)': 'What mirror.changes_since calls.',
  'function mirror.next_positions(bigint, xid8, bigint, int)':
    'Where the next changes of an epoch are, for mirror.read_change_log.',
  'function mirror.whole_diff(jsonb, jsonb, jsonb)':
    'What the view mirror.changes makes of a first entry: {column: [old, new]}.',
  'function mirror.last_cursor()': 'The last change that mirror.changes_since gives now; null before the first.',
  'function mirror.next_changes(text, int)':
    'What mirror.changes_since gives after the last change that this consumer acknowledged. An unknown consumer is registered for the role that calls, and begins at the start. Reading moves nothing.',
  'function mirror.ack_changes(text, text)':
    'Everything up to this cursor is done: mirror.next_changes goes on after it, once the transaction commits. Never backwards.',
  'function mirror.reset_consumer(text, text)':
    'Sets a consumer to a cursor that the log still has, to now, or (null) to the start; registers it where it is unknown.',
  'function mirror.drop_consumer(text)': 'Forgets a consumer.',
  'function mirror.history(text, jsonb)':
    'The versions of a record, oldest first, its columns as they were at the time; of the time after a deletion the record is null. Key as in mirror.change_log. The first version has no operation where the log no longer has its insert. Persons who were erased are null.',
  'function mirror.record_at(text, jsonb, timestamptz)':
    'What a record was at a time: its version in mirror.history. Null: there was none, it was deleted, or the log does not reach back so far.',
  'function mirror.refresh(text, jsonb)':
    'Reads a stream with what it hangs below, or the record with this key and its details, now: after queued changes, before everything scheduled. Returns the number of the request in sync.refreshes; the same one while it is open is that one. At most 60 a minute for a role.',
  'function mirror.feed_epoch()': 'Identity of the cluster, its timeline and this database, as a number.',

  'table sync.log_identity': 'What mirror.feed_epoch() knows the change log by.',
  'column sync.log_identity.only_row': 'Always true: there is one row.',
  'column sync.log_identity.number': 'The number of the table that it began in.',

  'table sync.consumer_positions': 'What sync.consumers shows, with the cursor in its parts.',
  'column sync.consumer_positions.name': 'Name of the consumer.',
  'column sync.consumer_positions.role': 'The role that registered it.',
  'column sync.consumer_positions.epoch': 'Of the last change acknowledged: the cluster; null: none was.',
  'column sync.consumer_positions.xid': 'Its transaction.',
  'column sync.consumer_positions.seq': 'Its number.',
  'column sync.consumer_positions.registered_at': 'When the consumer was first named.',
  'column sync.consumer_positions.acked_at': 'When it last acknowledged something.',
  'column sync.consumer_positions.lost': 'Changes that it had not acknowledged are gone.',

  'table sync.senders': 'What workers send of themselves: who does it, how far it is, and what went wrong last.',
  'column sync.senders.name': 'webhook, alert, or log: the line that one worker says each hour for all.',
  'column sync.senders.owner': 'The worker that sends, or did last.',
  'column sync.senders.lease_until': 'Until then no other worker sends; null: it was given back.',
  'column sync.senders.fence': 'Raised whenever another worker takes over: a former one then notes nothing.',
  'column sync.senders.address': 'Fingerprint of the address, to notice another.',
  'column sync.senders.attempts': 'Attempts that failed in a row.',
  'column sync.senders.failing_since': 'When these began; null: the last attempt did not fail.',
  'column sync.senders.next_attempt_at': 'When the next attempt is due; null: at once.',
  'column sync.senders.last_error': 'Why the last attempt failed.',
  'column sync.senders.delivered': 'Changes or messages taken by the receiver.',
  'column sync.senders.delivered_at': 'When something was last taken.',

  'table sync.alerts': 'Matters that need a person, as the messages to ALERT_URL tell them.',
  'column sync.alerts.kind': 'What is the matter.',
  'column sync.alerts.about': 'The stream or consumer it is about; empty: the mirror as a whole.',
  'column sync.alerts.since': 'When it was first seen.',
  'column sync.alerts.told': 'The receiver has taken the message that it has begun.',
  'column sync.alerts.gone_since': 'Since when it is not there any more; null: it is there.',

  'table sync.webhook_batch':
    'The call of the webhook that is on its way. It holds what the receiver is told, and is hidden from boat_mirror_reader.',
  'column sync.webhook_batch.id': 'Its webhook-id.',
  'column sync.webhook_batch.only_one': 'There is one at a time.',
  'column sync.webhook_batch.after_cursor': 'Where the consumer stood; null: at the start.',
  'column sync.webhook_batch.end_cursor': 'What is acknowledged when the receiver has taken it.',
  'column sync.webhook_batch.changes': 'Changes in it.',
  'column sync.webhook_batch.body': 'What is posted, the same in each repeat.',
  'column sync.webhook_batch.made_at': 'When it was made.',

  'table sync.freshness_days':
    'How long each stream met its target, by day (UTC). A worker adds to it each minute; report.freshness_history shows it.',
  'column sync.freshness_days.stream': 'Name of the stream.',
  'column sync.freshness_days.day': 'The day, in UTC. A day on which no worker ran has no row.',
  'column sync.freshness_days.looked_at': 'The last minute of the day in which a worker looked.',
  'column sync.freshness_days.counted':
    'Minutes of the day that count, without those since counts_from: a stream that is switched off or has no target does not count.',
  'column sync.freshness_days.counts_from':
    'Since when all minutes of the day count; null: the stream is switched off.',
  'column sync.freshness_days.met': 'Minutes in which the stream was within its target.',
  'column sync.freshness_days.missed_from':
    'The minute after the last one within the target, on this day or before; null: the stream is switched off.',
  'column sync.freshness_days.longest_gap':
    'The longest time without a minute within the target that ended on this day, in minutes.',

  'table sync.webhook_deliveries': 'Attempts to deliver a call of the webhook: the last 1,000 of a week.',
  'column sync.webhook_deliveries.id': 'Number in order of the answers.',
  'column sync.webhook_deliveries.sent_at': 'When the attempt started.',
  'column sync.webhook_deliveries.message_id': 'The webhook-id of the call; a repeat has the same one.',
  'column sync.webhook_deliveries.changes': 'Changes in the call.',
  'column sync.webhook_deliveries.status': 'What the receiver answered; null: no answer.',
  'column sync.webhook_deliveries.duration_ms':
    'Milliseconds from the start of the attempt to the answer, or to giving up.',
  'column sync.webhook_deliveries.error': 'Why the attempt failed; null: the receiver accepted the call.',
  'column sync.webhook_deliveries.after_cursor':
    'Where the consumer stood: a replay from here sends the call again. Null: the start.',

  'table sync.requests': 'What is to be read: syncs, hot runs and refreshes, by a command, the schedule or SQL.',
  'column sync.requests.id': 'Number of the request.',
  'column sync.requests.trigger': 'What asked for it.',
  'column sync.requests.full_read': 'Every detail is read again.',
  'column sync.requests.hot': 'Only what is most likely to have changed is read.',
  'column sync.requests.stream': 'Of a refresh: the stream that was asked for; null: another kind of request.',
  'column sync.requests.record_key': 'Of a refresh of one record: its key.',
  'column sync.requests.role': 'Of a refresh: who asked.',
  'column sync.requests.error': 'Why nothing was read.',
  'column sync.requests.requested_at': 'When it was asked for.',
  'column sync.requests.finished_at': 'When its last run ended; null: still at it.',
  'table sync.request_streams': 'The streams of a request and the run that serves each.',
  'column sync.request_streams.request_id': 'sync.requests.id.',
  'column sync.request_streams.stream': 'Name of the stream.',
  'column sync.request_streams.run_id': 'sync.runs.id; null: no run yet.',

  'table sync.workers':
    'The workers that were heard of within ten minutes; each says every five seconds that it is there.',
  'column sync.workers.id': 'Host, process and one life of it.',
  'column sync.workers.host': 'Name of the machine or container.',
  'column sync.workers.pid': 'Number of the process there.',
  'column sync.workers.version': 'Version of the program.',
  'column sync.workers.started_at': 'When it started, or was heard of again after half a minute of silence.',
  'column sync.workers.seen_at': 'When it was last heard of.',
  'column sync.workers.doing': 'Tasks and changes that it had in work then; null: none.',

  'table sync.servers':
    'The processes that serve the API and were heard of within ten minutes; each writes its row every five seconds.',
  'column sync.servers.id': 'Host, process and one life of it.',
  'column sync.servers.host': 'Name of the machine or container.',
  'column sync.servers.pid': 'Number of the process there.',
  'column sync.servers.version': 'Version of the program.',
  'column sync.servers.address': 'Where it listens.',
  'column sync.servers.started_at': 'When it started.',
  'column sync.servers.seen_at': 'When it was last heard of.',
  'column sync.servers.requests': 'Requests answered since it started.',
  'column sync.servers.recent_requests':
    'Requests answered in the five minutes before seen_at; so are all recent columns.',
  'column sync.servers.recent_refused': 'Those answered with a status from 400 to 499.',
  'column sync.servers.recent_failed': 'Those answered with a status from 500 on.',
  'column sync.servers.recent_mean_ms': 'Mean time from a request to its answer, in milliseconds; null: no request.',
  'column sync.servers.recent_slowest_ms':
    'Longest time from a request to its answer, in milliseconds; null: no request.',
  'column sync.servers.recent_oldest_s':
    'Greatest age of what an answer showed, in seconds; null: no answer showed anything of the mirror.',

  'table sync.runs':
    'One row for each run of a stream; at most one complete run and one hot run of a stream are running, and any number of single records.',
  'column sync.runs.id': 'Number of the run.',
  'column sync.runs.stream': 'Name of the stream, which is its table.',
  'column sync.runs.trigger': 'What started it.',
  'column sync.runs.status':
    'running, done, partial (something was not read), held (deletions wait for a person), failed.',
  'column sync.runs.started_at': 'When it started.',
  'column sync.runs.finished_at': 'When it ended; null: running.',
  'column sync.runs.pages': 'Pages read.',
  'column sync.runs.requests': 'Requests sent, retries included.',
  'column sync.runs.retries': 'Requests that were repeated.',
  'column sync.runs.read': 'Records read.',
  'column sync.runs.inserted': 'Rows inserted, revived ones included.',
  'column sync.runs.updated': 'Rows updated.',
  'column sync.runs.unchanged': 'Records that equal their row.',
  'column sync.runs.deleted': 'Rows that became tombstones.',
  'column sync.runs.quarantined': 'Records that could not be mirrored.',
  'column sync.runs.held': 'Deletions that wait for `boat-mirror runs release`.',
  'column sync.runs.bytes': 'Bytes received, decoded.',
  'column sync.runs.error': 'What went wrong.',
  'column sync.runs.full_read': 'Every detail is read again.',
  'column sync.runs.hot':
    'It reads only what is most likely to have changed: new rentals and those that depart in the hot window, or what a change of them made due.',
  'column sync.runs.record_key': 'The run reads one record, with this key, and what hangs on it; null: the stream.',
  'column sync.runs.unexpected': 'Details that had changed although nothing had made them due.',
  'column sync.runs.phase': 'sweep, details or finished.',
  'column sync.runs.swept_at': 'When the sweep was complete.',
  'column sync.runs.total': 'Records the list holds, as far as known.',
  'column sync.runs.plan': 'What a held run would delete, for a person to read.',
  'column sync.runs.warnings': 'What a person should know, although the run went on.',

  'table sync.tasks':
    'Pieces of runs with their leases: the truth about what is to be done; a queue job is only a wake-up.',
  'column sync.tasks.id': 'Number of the task.',
  'column sync.tasks.run_id': 'sync.runs.id.',
  'column sync.tasks.stream': 'Name of the stream.',
  'column sync.tasks.kind': 'What is to be done.',
  'column sync.tasks.payload': 'Ids and numbers it needs.',
  'column sync.tasks.status': 'waiting, running, done or failed.',
  'column sync.tasks.priority': 'Lower comes first.',
  'column sync.tasks.owner': 'The worker that holds the lease.',
  'column sync.tasks.fence': 'Counts claims; a commit with an older number is refused.',
  'column sync.tasks.lease_until': 'When the lease ends unless it is renewed.',
  'column sync.tasks.checkpoint': 'Where to go on.',
  'column sync.tasks.checkpoint_at': 'When the checkpoint was committed.',
  'column sync.tasks.attempts': 'How often it was claimed.',
  'column sync.tasks.not_before': 'Not to be claimed before.',
  'column sync.tasks.woken_at': 'When a wake-up was last sent.',
  'column sync.tasks.error': 'What went wrong last.',
  'column sync.tasks.created_at': 'When it was created.',
  'column sync.tasks.finished_at': 'When it ended.',

  'table sync.streams': 'How fresh each stream is.',
  'column sync.streams.stream': 'Name of the stream, which is its table.',
  'column sync.streams.as_of': 'Everything older than this upstream is in the mirror.',
  'column sync.streams.hot_as_of':
    'Everything older than this upstream is in the mirror, of records that are new or lie in the hot window; null: the stream has no such window.',
  'column sync.streams.rows': 'Live rows, as of the last time that sync.row_changes was added up.',
  'column sync.streams.rows_proven_at': 'When they were last counted.',
  'column sync.streams.last_run_id': 'sync.runs.id of the last complete run.',
  'column sync.streams.next_due_at': 'When its next complete run is due.',
  'column sync.streams.hot_next_due_at': 'When its next hot run is due.',
  'column sync.streams.hot_interval_s': 'Effective interval of its hot runs in seconds; null: it has none.',
  'column sync.streams.interval_s': 'Effective interval in seconds, stretched by the request budget.',
  'column sync.streams.max_age_s':
    'How old details may be before they are read again, in seconds, where API_QUOTA lets them be no younger; null: DETAIL_MAX_AGE.',
  'column sync.streams.soon_max_age_s':
    'The same of rentals that depart within 30 days or are just back; null: a quarter of that.',
  'column sync.streams.paused_by':
    'sync.decisions.id of the decision that paused it, or what it hangs below; null: it is not paused.',
  'column sync.streams.target_s': 'Freshness that is aimed at, in seconds.',

  'table sync.row_changes': 'By how many live rows a commit changed a table, until the end of a run adds them up.',
  'column sync.row_changes.id': 'Number of the entry.',
  'column sync.row_changes.stream': 'Name of the stream.',
  'column sync.row_changes.difference': 'Live rows that came, less those that went.',

  'table sync.endpoints': `The ${readEndpoints.length} read endpoints: how often each was called and how it went.`,
  'column sync.endpoints.endpoint': 'Method and path template.',
  'column sync.endpoints.calls': 'Calls.',
  'column sync.endpoints.failures': 'Calls that failed.',
  'column sync.endpoints.last_status': 'HTTP status of the last call; null: no answer.',
  'column sync.endpoints.last_status_since': 'When the calls in a row that had this status began.',
  'column sync.endpoints.last_called_at': 'When it was last called.',
  'column sync.endpoints.last_error': 'What went wrong last; null after a success.',

  'table sync.reads':
    'Reads whose answer repeats a record that another read has brought: whether they ever tell more, and how often they were left out.',
  'column sync.reads.endpoint': 'The read that repeats another: method and path template.',
  'column sync.reads.same_as':
    'The read that brings the same record; behind a # its place inside the record of that read.',
  'column sync.reads.state':
    'learning: each is read and compared. redundant: none differed, so all but samples are left out. needed: one differed, so all are read.',
  'column sync.reads.compared': 'Answers that were compared as whole records since learning last began.',
  'column sync.reads.differed': 'Those among them that differed.',
  'column sync.reads.skipped': 'Requests that were left out.',
  'column sync.reads.since': 'When it came to be in this state.',
  'column sync.reads.sampled_at': 'When a sample was last read; null: not since the verdict.',

  'table sync.records':
    'What is known of each record between reads; beside the mirror because it changes at every read.',
  'column sync.records.stream': 'Name of the stream.',
  'column sync.records.key': 'The key: one column as it is, several as a JSON array.',
  'column sync.records.list_hash': 'Hash of the record as the list last answered it.',
  'column sync.records.detail_hash': 'Hash of the record as its detail last answered it.',
  'column sync.records.detail_read_at': 'When its details were last read.',
  'column sync.records.projection': 'Version of the projection that made the row.',
  'column sync.records.listed_at':
    'When the row was last written from, or compared with, the record as its list shows it.',
  'column sync.records.partly': 'Reads that repeat others were left out when its details were last read: sync.reads.',
  'column sync.records.changed_at': 'When a change was last seen: details older than this are read again.',

  'table sync.sweep_pages': 'What a sweep saw, one row a page.',
  'column sync.sweep_pages.run_id': 'sync.runs.id.',
  'column sync.sweep_pages.pass': 'Which pass through the list, from 1.',
  'column sync.sweep_pages.page': 'Which page of the pass.',
  'column sync.sweep_pages.keys': 'Keys on the page.',
  'table sync.sweep_ranges':
    'The ranges of a table in which the end of a sweep compares it with its list; gone when the sweep has ended.',
  'column sync.sweep_ranges.run_id': 'sync.runs.id.',
  'column sync.sweep_ranges.range': 'Number of the range, from 0, in the order of the keys.',
  'column sync.sweep_ranges.begins': 'Its first key, included; null: the first one there may be.',
  'column sync.sweep_ranges.missing': 'Keys of its live rows that the sweep missed.',
  'table sync.sweep_parts': 'Keys of the pages of a sweep by range, until the range is compared or counted.',
  'column sync.sweep_parts.run_id': 'sync.runs.id.',
  'column sync.sweep_parts.range':
    'Which range: of the keys (sync.sweep_ranges), or of their hashes while a pass is counted.',
  'column sync.sweep_parts.pass': 'Pass of the last page of this part.',
  'column sync.sweep_parts.page': 'Its last page.',
  'column sync.sweep_parts.keys': 'Keys of its pages that lie in the range.',
  'table sync.list_pages':
    'Pages of lists that came with an entity tag: asked for with it, one that has it still comes without a body.',
  'column sync.list_pages.stream': 'Name of the stream.',
  'column sync.list_pages.name': 'Hash of its address and of what else decides what it says.',
  'column sync.list_pages.tag': 'The entity tag (ETag).',
  'column sync.list_pages.keys': 'Keys of its records.',
  'column sync.list_pages.hash': 'Of the hashes of its records: it is used while sync.records has the same ones.',
  'column sync.list_pages.next': 'Where the list went on.',
  'column sync.list_pages.read_at': 'When it was last received whole.',
  'table sync.detail_tags':
    'Details whose answers came with entity tags: asked for with them, answers that have them still come without a body.',
  'column sync.detail_tags.stream': 'Name of the stream.',
  'column sync.detail_tags.key': 'Key of the record that the details hang below.',
  'column sync.detail_tags.detail_hash': 'Hash of the details: the tags are used while sync.records has the same one.',
  'column sync.detail_tags.answers':
    'The answers by the hash of their address and of what else decides what they say: tag, and how many rows they made.',
  'column sync.detail_tags.read_at': 'When all of them were last received whole.',
  'table sync.decisions':
    'What people decided about changes, held deletions and streams: hashes and ids, no values. Nothing is deleted from it; a backup must hold it.',
  'column sync.decisions.id': 'Number of the decision.',
  'column sync.decisions.at': 'When it was made.',
  'column sync.decisions.who': 'The database role; of the pages the name that was typed there, which nothing proves.',
  'column sync.decisions.via': 'sql, command, library or page.',
  'column sync.decisions.what': 'retry, cancel, local, remote, took_effect, did_not, release, pause or resume.',
  'column sync.decisions.target': 'What it is about: change:17, run:52, stream:rentals.',
  'column sync.decisions.plan': 'The hash of the plan that was decided about.',
  'column sync.decisions.result_id':
    'Of took_effect: the record that the change made, where it was named. Of release: sync.runs.id of the run that carries it out.',
  'column sync.decisions.done_at': 'When it took effect, or could not; null: a worker is to carry it out.',
  'column sync.decisions.error': 'Why it did not take effect; null: it did, or is open.',
  'table sync.held': 'Deletions that wait for a person.',
  'column sync.held.run_id': 'sync.runs.id.',
  'column sync.held.key': 'Key of the row.',
  'column sync.held.released_at': 'When a person released it.',

  'table sync.quarantine': 'Records that could not be mirrored, one row each; a later good version clears them.',
  'column sync.quarantine.id': 'Number of the entry.',
  'column sync.quarantine.stream': 'Name of the stream.',
  'column sync.quarantine.key': 'Key of the record, or # and a hash of it.',
  'column sync.quarantine.endpoint': 'The endpoint that answered it.',
  'column sync.quarantine.payload': 'The record whole; as a JSON string of its text where jsonb cannot hold it.',
  'column sync.quarantine.reason': 'Field, what was expected, what came.',
  'column sync.quarantine.first_seen_at': 'When it first came.',
  'column sync.quarantine.last_seen_at': 'When it last came.',
  'column sync.quarantine.times': 'How often it came.',
  'column sync.quarantine.request': 'Values of columns that come from the request, for a retry.',

  'table sync.unknown_fields':
    'Fields seen upstream that no column shows: unknown, or of another shape. They stay in the payload.',
  'column sync.unknown_fields.stream': 'Name of the stream.',
  'column sync.unknown_fields.path':
    'Dotted path in the record; of a known field the shape that it came in: company (as array).',
  'column sync.unknown_fields.first_seen_at': 'When it was first seen.',
  'column sync.unknown_fields.last_seen_at': 'When it was last seen.',
  'column sync.unknown_fields.times': 'In how many records.',
  'column sync.unknown_fields.sample': 'A value; of streams with personal data only its JSON type.',

  'table sync.pinned':
    'What was probed once: page base, envelope, summary lists, prices at once, filters that are honoured.',
  'column sync.pinned.key': 'What was probed.',
  'column sync.pinned.value': 'What was found.',
  'column sync.pinned.probed_at': 'When.',
  'column sync.pinned.contradicted_at':
    'When an answer last contradicted it; still relied on if it was probed again since.',
  'column sync.pinned.contradiction': 'What contradicted it then.',

  'table sync.gate': 'Breaker and pauses of the API, shared by all workers.',
  'column sync.gate.id': 'Which gate.',
  'column sync.gate.state': 'Its state.',
  'column sync.gate.updated_at': 'When it last changed.',
  'function sync.lend_requests(int, text, int, int, boolean, int[], timestamptz)':
    'Lends a share of the request budget to a worker: how many requests may leave, and in how many milliseconds the first of them; with a quota (an hour, 24 hours, a month) no more than it has left, and where it has none, when it may have some.',
  'function sync.take_from_quota(int[], text, int, int, timestamptz, timestamptz)':
    'Counts requests that are lent as used, before they leave; what sync.lend_requests calls.',
  'function sync.quota_windows(int[], timestamptz)':
    'What of a quota is used: the windows hour (1), 24 hours (2) and month (3), what each allows, since when it counts, and what was taken since.',
  'function sync.quota_pace(int[], timestamptz)':
    'Requests an hour that a quota of 24 hours and of a month allow in the long run.',
  'table sync.request_counts':
    'Requests taken from API_QUOTA, one row for each minute in which some were; kept for two months.',
  'column sync.request_counts.minute': 'Beginning of the minute.',
  'column sync.request_counts.total':
    'All requests taken since the first row, up to the end of the minute; what was given back is not among them.',
  'sequence sync.details_paced_until':
    'Until then the even share of API_QUOTA is used, in microseconds since 1970: details may be six hours ahead of it.',
  'sequence sync.requests_lent_until':
    'Instant until which the requests of the budget are lent, in microseconds since 1970, as those of the other sequences.',
  'sequence sync.changes_wait_until': 'Until then changes wait at some worker, and reads and details stand back.',
  'sequence sync.reads_wait_until': 'Until then reads wait at some worker, and details stand back.',
  'sequence sync.details_lent_until': 'From then on details have a turn beside reads that wait.',
  'table sync.traffic': 'Calls of the API, added up by minute and endpoint over all workers; kept for seven days.',
  'column sync.traffic.minute': 'Beginning of the minute.',
  'column sync.traffic.endpoint': 'Method and path template.',
  'column sync.traffic.calls': 'Attempts, repeated ones included.',
  'column sync.traffic.failures': 'Attempts without an answer that helps; 404 and 410 are answers.',
  'column sync.traffic.throttled': 'Of these, answers 429.',
  'column sync.traffic.total_ms': 'Time of all attempts together, milliseconds.',
  'column sync.traffic.slowest_ms': 'Time of the slowest attempt, milliseconds.',
  'table sync.privacy':
    'What is stored of personal data. Migrate writes it into an empty database, `privacy apply` changes it; a process with other settings refuses to work.',
  'column sync.privacy.only_row': 'Always true: there is one row.',
  'column sync.privacy.mode': 'PERSONAL_DATA: keep, hash or drop.',
  'column sync.privacy.columns': 'Columns for which it is something else: {"users.email": "keep"}.',
  'column sync.privacy.key_fingerprint':
    'Tells PERSONAL_DATA_KEY from others, without the key; null: nothing is hashed.',
  'column sync.privacy.generation':
    'Counts changes of this row and of sync.erased: a process that knows an older number writes nothing.',
  'column sync.privacy.applying':
    'How far `privacy apply` has come, by table; null: none is under way. Until it ends, no process works.',
  'column sync.privacy.set_at': 'When the settings were written; null: they are those of a database from before.',
  'table sync.erased':
    'Persons of whom only the key is kept, also when they are read again. Belongs to what a backup must hold.',
  'column sync.erased.stream': 'users, or rental_crew_members.',
  'column sync.erased.key': 'The key of the row, as one text.',
  'column sync.erased.erased_at': 'When `boat-mirror privacy erase` was run.',

  'table sync.access_tokens':
    'Access tokens of `serve`: hashes, and what each may do. Not at the API: a backup must hold it.',
  'column sync.access_tokens.id': 'Number of the token; the token itself names it.',
  'column sync.access_tokens.name': 'Name of the token. Revoked tokens may share one.',
  'column sync.access_tokens.hash': 'SHA-256 of the token.',
  'column sync.access_tokens.role': 'Database role that reads and queues changes for the token.',
  'column sync.access_tokens.companies': 'mirror.companies.id of each company that it may see; null: all.',
  'column sync.access_tokens.personal': 'May it see personal members, users and documents?',
  'column sync.access_tokens.write': 'May it write?',
  'column sync.access_tokens.created_at': 'When it was created.',
  'column sync.access_tokens.expires_at': 'When it expires; null: never.',
  'column sync.access_tokens.revoked_at': 'When it was revoked; null: it was not.',
  'table sync.calendar_keys':
    'Keys of the calendars that `serve` shows, one for each resource, as hashes. Not at the API: a backup must hold it.',
  'column sync.calendar_keys.resource_id': 'mirror.resources.id.',
  'column sync.calendar_keys.hash': 'SHA-256 of the key.',
  'column sync.calendar_keys.created_at': 'When the key was created.',
  'table sync.fleets':
    'Resources that stand for several boats: a slot has shown more than one boat free. Their rentals may overlap.',
  'column sync.fleets.resource_id': 'mirror.resources.id.',
  'column sync.fleets.seen_at': 'When that was first seen.',

  'table sync.settings': 'Settings of the program that views need; migrate writes them.',
  'column sync.settings.only_row': 'Always true: there is one row.',
  'column sync.settings.time_zone':
    'TIME_ZONE at the last migrate: what "today" is, and the zone of a date-time that names no offset.',
  'column sync.settings.outbox_limit': 'OUTBOX_LIMIT at the last start: open changes a role may have; null: no limit.',
  'table sync.repeatable': 'Which version of comments, views, functions and grants was applied.',
  'column sync.repeatable.only_row': 'Always true: there is one row.',
  'column sync.repeatable.version': 'Hash of all repeatable steps.',
  'column sync.repeatable.applied_at': 'When they were applied.',
}
