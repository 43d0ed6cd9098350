// The comments on the schemas, the tables of `sync`, the change log and its functions, as they appear in the
// database.

import { readEndpoints } from '../catalog/catalog.ts'

/** Object as in `comment on …` → its meaning. */
export const syncComments: Readonly<Record<string, string>> = {
  'schema mirror': 'Every record of the boat-rental API, one table for each record type.',
  'schema mirror_log':
    'The monthly partitions of mirror.change_log, and the functions behind the view mirror.changes. Only the owner may use it.',
  'schema mirror_views': 'The tables of mirror without documents, personal columns and payloads with personal data.',
  'schema live':
    'The tables of mirror without deleted records, and with currencies as codes. Only boat_mirror_partner may read columns with personal data.',
  'schema sync': 'The state of syncing: runs, tasks, freshness, quarantine.',
  'schema report': 'Views for analysts. They show live rows only.',
  'schema outbox': 'Changes on their way to the API.',
  'schema company_access':
    'Who calls, and which roles may see only some companies. Set it with `boat-mirror access`. Only the owner may use it by name.',

  'table company_access.grants':
    'The roles whose access is restricted, and the companies that they and their members may see.',
  'column company_access.grants.role': 'Key of the partner (sync.partners).',
  'column company_access.grants.companies': 'mirror.companies.id of each company that the role may see.',
  'column company_access.grants.granted_at': 'When the access was last set.',

  'table mirror.change_log':
    'One row for each change of a mirror row, written in the same transaction. Read it with mirror.changes_since or the view mirror.changes.',
  'column mirror.change_log.seq': 'Sequence number, in order of writing, not of commit.',
  'column mirror.change_log.epoch': 'The cluster, timeline and database that the transaction id belongs to.',
  'column mirror.change_log.xid': 'The transaction that wrote the row.',
  'column mirror.change_log.stream': 'The table, without its schema.',
  'column mirror.change_log.key': 'The key columns, as an object.',
  'column mirror.change_log.operation': 'insert (also when a deleted record returns), update or delete.',
  'column mirror.change_log.changed_at': 'When the row was written, by the clock of the database.',
  'column mirror.change_log.diff':
    'The part of the diff that cannot be derived from the row and its later changes. mirror.changes and mirror.changes_since return the complete diff.',
  'column mirror.change_log.whole':
    'False for the first entry of a key: a read completes its diff from later entries and the row.',
  'function mirror.changes_since(text, int)':
    'Returns changes after a cursor (null: from the beginning), at most max_rows. Keep the cursor of the last row and pass it next time. It skips no change that commits late, because it stops below the oldest running transaction. For a cursor of another history, or of an entry that is another one now, it starts from the beginning. If the entry is not visible yet, it returns nothing.',
  'function mirror.read_change_log(text, int)': 'Reads the change log for mirror.changes_since.',
  'function mirror.next_positions(bigint, xid8, bigint, int)':
    'Finds the next changes of an epoch for mirror.read_change_log.',
  'function mirror.whole_diff(jsonb, jsonb, jsonb)':
    'Completes the diff of a first entry for the view mirror.changes: {column: [old, new]}.',
  'function mirror.last_cursor()':
    'Returns the cursor of the last change that mirror.changes_since returns now. Null before the first change.',
  'function mirror.next_changes(text, int)':
    'Returns the changes after the last one that this consumer acknowledged. Registers an unknown consumer for the calling role, from the start of the log. Reading does not move the position.',
  'function mirror.ack_changes(text, text)':
    'Acknowledges everything up to this cursor. Once the transaction commits, mirror.next_changes continues after it. The position never moves backwards.',
  'function mirror.reset_consumer(text, text)':
    'Moves a consumer to a cursor that the log still has, to now, or (null) to the start. Registers a consumer that is unknown.',
  'function mirror.drop_consumer(text)': 'Removes a consumer.',
  'function mirror.history(text, jsonb)':
    'Returns the versions of a record, oldest first, each with its columns as they were. After a deletion the record is null. The key is an object as in mirror.change_log. The first version has no operation if the log no longer has its insert. Values of erased persons are null.',
  'function mirror.record_at(text, jsonb, timestamptz)':
    'Returns a record as it was at a time, as mirror.history shows it. Null if it did not exist, was deleted, or the log does not reach back that far.',
  'function mirror.refresh(text, jsonb)':
    'Reads a stream and its parents now, or the record with this key and its details: after queued changes, before everything scheduled. Returns the number of the request in sync.refreshes. While the same request is open, it returns that number again. A role may call it at most 60 times a minute.',
  'function mirror.feed_epoch()': 'Returns the epoch of sync.history().',
  'function sync.folder()': 'Identifies the folder of an embedded Postgres. Null for another server.',
  'function sync.history()':
    'Identifies the history that this database is part of: its cluster, its timeline and its place there, and all three as one number (epoch).',

  'table sync.log_identity': 'Identifies the change log for sync.history().',
  'column sync.log_identity.only_row': 'Always true: there is one row.',
  'column sync.log_identity.number': 'The oid of mirror.change_log when the log started.',
  'column sync.log_identity.folder':
    'The folder of the embedded Postgres in which this database was first migrated. Null: none is known.',

  'table sync.consumer_positions': 'The positions that sync.consumers shows, with the cursor in its parts.',
  'column sync.consumer_positions.name': 'Name of the consumer.',
  'column sync.consumer_positions.role': 'Key of the partner (sync.partners) that registered it.',
  'column sync.consumer_positions.epoch': 'Epoch of the last acknowledged change; null: none yet.',
  'column sync.consumer_positions.xid': 'Transaction id of that change.',
  'column sync.consumer_positions.seq': 'Sequence number of that change.',
  'column sync.consumer_positions.registered_at': 'When the consumer was registered.',
  'column sync.consumer_positions.acked_at': 'When the consumer last acknowledged changes.',
  'column sync.consumer_positions.lost': 'True if changes were removed before the consumer acknowledged them.',

  'table sync.senders':
    'What workers send: the webhook and alerts. Shows which worker sends, its progress and its last error.',
  'column sync.senders.name': 'webhook or alert.',
  'column sync.senders.owner': 'The worker that sends, or sent last.',
  'column sync.senders.lease_until': 'Until then no other worker sends; null: the lease was returned.',
  'column sync.senders.fence': 'Random number of the claim. A worker with another number can no longer write.',
  'column sync.senders.address': 'Fingerprint of the address, to detect a new one.',
  'column sync.senders.attempts': 'Failed attempts in a row.',
  'column sync.senders.failing_since': 'When these failures started; null: the last attempt did not fail.',
  'column sync.senders.next_attempt_at': 'When the next attempt is due; null: at once.',
  'column sync.senders.last_error': 'Why the last attempt failed.',
  'column sync.senders.delivered': 'Changes or messages that the receiver accepted.',
  'column sync.senders.delivered_at': 'When the receiver last accepted something.',

  'table sync.alerts': 'Conditions that need attention, as sent to ALERT_URL.',
  'column sync.alerts.kind': 'Kind of condition.',
  'column sync.alerts.about': 'The stream or consumer that it concerns; empty: the whole mirror.',
  'column sync.alerts.since': 'When it was first detected.',
  'column sync.alerts.told': 'True once the receiver has accepted the message that it started.',
  'column sync.alerts.gone_since': 'When it ended; null: it lasts.',

  'table sync.webhook_batch':
    'The webhook call that is being delivered. It contains the changes, so boat_mirror_reader cannot read it.',
  'column sync.webhook_batch.id': 'webhook-id of the call.',
  'column sync.webhook_batch.only_one': 'Always true: there is at most one row.',
  'column sync.webhook_batch.after_cursor': 'Cursor of the consumer before the call; null: the start.',
  'column sync.webhook_batch.end_cursor': 'Cursor that is acknowledged once the receiver has accepted the call.',
  'column sync.webhook_batch.changes': 'Number of changes in the call.',
  'column sync.webhook_batch.body': 'Body of the call; the same for each retry.',
  'column sync.webhook_batch.made_at': 'When the call was created.',

  'table sync.freshness_days':
    'How long each stream met its target, by day (UTC). A worker updates it each minute. Read it with report.freshness_history.',
  'column sync.freshness_days.stream': 'Name of the stream.',
  'column sync.freshness_days.day': 'The day, in UTC. A day on which no worker ran has no row.',
  'column sync.freshness_days.looked_at': 'The last minute of the day in which a worker checked.',
  'column sync.freshness_days.counted':
    'Minutes of the day that count, before counts_from. Minutes in which a stream is switched off or has no target do not count.',
  'column sync.freshness_days.counts_from':
    'From then on, every minute of the day counts; null: the stream is switched off.',
  'column sync.freshness_days.met': 'Minutes in which the stream was within its target.',
  'column sync.freshness_days.missed_from':
    'The minute after the last one within the target, on this day or before; null: the stream is switched off.',
  'column sync.freshness_days.longest_gap':
    'The longest time without a minute within the target that ended on this day, in minutes.',

  'table sync.webhook_deliveries': 'The last 1,000 attempts to deliver webhook calls, kept for a week.',
  'column sync.webhook_deliveries.id': 'Number of the attempt, in order of the answers.',
  'column sync.webhook_deliveries.sent_at': 'When the attempt started.',
  'column sync.webhook_deliveries.message_id': 'webhook-id of the call; the same for each retry.',
  'column sync.webhook_deliveries.changes': 'Changes in the call.',
  'column sync.webhook_deliveries.status': 'HTTP status of the answer; null: no answer.',
  'column sync.webhook_deliveries.duration_ms':
    'Milliseconds from the start of the attempt until the answer, or until it was aborted.',
  'column sync.webhook_deliveries.error': 'Why the attempt failed; null: the receiver accepted the call.',
  'column sync.webhook_deliveries.after_cursor':
    'Cursor of the consumer before the call; null: the start. A replay from here sends the call again.',

  'table sync.requests':
    'Requests to read something: syncs, hot runs and refreshes, from a command, the schedule or SQL.',
  'column sync.requests.id': 'Number of the request.',
  'column sync.requests.trigger': 'What made the request.',
  'column sync.requests.full_read': 'True if every detail is read again.',
  'column sync.requests.hot': 'True if only the records that most likely changed are read.',
  'column sync.requests.stream': 'For a refresh, the requested stream; null: another kind of request.',
  'column sync.requests.record_key': 'For a refresh of one record, its key.',
  'column sync.requests.role': 'For a refresh, the key of the partner (sync.partners) that requested it.',
  'column sync.requests.error': 'Why nothing was read.',
  'column sync.requests.requested_at': 'When it was requested.',
  'column sync.requests.finished_at': 'When its last run ended; null: it is still running.',
  'table sync.request_streams': 'The streams of a request, and the run that serves each of them.',
  'column sync.request_streams.request_id': 'sync.requests.id.',
  'column sync.request_streams.stream': 'Name of the stream.',
  'column sync.request_streams.run_id': 'sync.runs.id; null: no run yet.',

  'table sync.workers': 'The workers that reported within the last ten minutes. Each reports every five seconds.',
  'column sync.workers.id': 'Identifies one start of a process on a host.',
  'column sync.workers.host': 'Name of the machine or container.',
  'column sync.workers.pid': 'Process id on that host.',
  'column sync.workers.version': 'Version of the program.',
  'column sync.workers.started_at': 'When it started, or reported again after half a minute of silence.',
  'column sync.workers.seen_at': 'When it last reported.',
  'column sync.workers.doing': 'Tasks and changes that it was processing then; null: none.',

  'table sync.servers':
    'The processes that serve the API and reported within the last ten minutes. Each reports every five seconds.',
  'column sync.servers.id': 'Identifies one start of a process on a host.',
  'column sync.servers.host': 'Name of the machine or container.',
  'column sync.servers.pid': 'Process id on that host.',
  'column sync.servers.version': 'Version of the program.',
  'column sync.servers.address': 'Where it listens.',
  'column sync.servers.started_at': 'When it started, or reported again after half a minute of silence.',
  'column sync.servers.seen_at': 'When it last reported.',
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
    'One row for each run of a stream. At most one complete run and one hot run of a stream run at a time. Runs of single records are not limited.',
  'column sync.runs.id': 'Number of the run.',
  'column sync.runs.stream': 'Name of the stream and of its table.',
  'column sync.runs.trigger': 'What started it.',
  'column sync.runs.status':
    'running, done, partial (something was not read), held (deletions need your decision) or failed.',
  'column sync.runs.started_at': 'When it started.',
  'column sync.runs.finished_at': 'When it ended; null: it is running.',
  'column sync.runs.pages': 'Pages read.',
  'column sync.runs.requests': 'Requests sent, retries included.',
  'column sync.runs.retries': 'Retried requests.',
  'column sync.runs.read': 'Records read.',
  'column sync.runs.inserted': 'Rows inserted, including deleted ones that returned.',
  'column sync.runs.updated': 'Rows updated.',
  'column sync.runs.unchanged': 'Records equal to their row.',
  'column sync.runs.deleted': 'Rows marked as deleted.',
  'column sync.runs.quarantined': 'Records that could not be mirrored.',
  'column sync.runs.held': 'Deletions on hold until `boat-mirror runs release`.',
  'column sync.runs.bytes': 'Bytes received, after decompression.',
  'column sync.runs.error': 'What went wrong.',
  'column sync.runs.full_read': 'True if every detail is read again.',
  'column sync.runs.hot':
    'True if it reads only the records that most likely changed: new rentals, rentals that depart in the hot window, or records that these made due.',
  'column sync.runs.record_key':
    'Key of the one record that the run reads, with everything below it; null: the run reads the stream.',
  'column sync.runs.unexpected': 'Details that had changed although nothing had marked them as due.',
  'column sync.runs.phase': 'sweep, details or finished.',
  'column sync.runs.swept_at': 'When the list was read to its end.',
  'column sync.runs.total': 'Number of records in the list, as far as known.',
  'column sync.runs.plan': 'What a held run would delete, for you to review.',
  'column sync.runs.warnings': 'Warnings: what you should know although the run continued.',

  'table sync.tasks':
    'Parts of runs, with their leases. This table decides which work is open; a queue job only wakes a worker.',
  'column sync.tasks.id': 'Number of the task.',
  'column sync.tasks.run_id': 'sync.runs.id.',
  'column sync.tasks.stream': 'Name of the stream.',
  'column sync.tasks.kind': 'Kind of work.',
  'column sync.tasks.payload': 'Ids and numbers that the task needs.',
  'column sync.tasks.status': 'waiting, running, done or failed.',
  'column sync.tasks.priority': 'Priority; a lower number comes first.',
  'column sync.tasks.owner': 'The worker that holds the lease.',
  'column sync.tasks.fence': 'Random number of the claim. A commit with another number is refused.',
  'column sync.tasks.lease_until': 'When the lease expires unless the worker renews it.',
  'column sync.tasks.checkpoint': 'Where to resume.',
  'column sync.tasks.checkpoint_at': 'When the checkpoint was committed.',
  'column sync.tasks.attempts': 'How often it was claimed.',
  'column sync.tasks.not_before': 'No worker claims it before this time.',
  'column sync.tasks.woken_at': 'When a wake-up was last sent.',
  'column sync.tasks.error': 'The last error.',
  'column sync.tasks.created_at': 'When it was created.',
  'column sync.tasks.finished_at': 'When it ended.',
  'column sync.tasks.reason': 'Why: sync.reasons.number; null: an earlier version added it.',

  'table sync.streams': 'Freshness and schedule of each stream.',
  'column sync.streams.stream': 'Name of the stream and of its table.',
  'column sync.streams.as_of': 'Everything older than this in the API is in the mirror.',
  'column sync.streams.hot_as_of':
    'Everything older than this in the API is in the mirror, for records that are new or lie in the hot window; null: the stream has no hot window.',
  'column sync.streams.rows': 'Live rows, as of the last sum of sync.row_changes.',
  'column sync.streams.rows_proven_at': 'When the rows were last counted.',
  'column sync.streams.last_run_id': 'sync.runs.id of the last complete run.',
  'column sync.streams.next_due_at': 'When its next complete run is due.',
  'column sync.streams.hot_next_due_at': 'When its next hot run is due.',
  'column sync.streams.hot_interval_s': 'Effective interval between hot runs in seconds; null: it has none.',
  'column sync.streams.interval_s': 'Effective interval in seconds, extended if the request budget requires it.',
  'column sync.streams.max_age_s':
    'Age in seconds at which details are read again, if API_QUOTA does not allow more frequent reads; null: DETAIL_MAX_AGE.',
  'column sync.streams.soon_max_age_s':
    'The same for rentals that depart within 30 days or have just returned; null: a quarter of that.',
  'column sync.streams.paused_by':
    'sync.decisions.id of the decision that paused the stream or one of its parents; null: it is not paused.',
  'column sync.streams.target_s': 'Target for its freshness, in seconds.',

  'table sync.row_changes': 'How many live rows each commit added to a table. The end of a run adds the entries up.',
  'column sync.row_changes.id': 'Number of the entry.',
  'column sync.row_changes.stream': 'Name of the stream.',
  'column sync.row_changes.difference': 'Live rows added, less those removed.',

  'table sync.endpoints': `The ${readEndpoints.length} read endpoints, with the number and results of their calls.`,
  'column sync.endpoints.endpoint': 'Method and path template.',
  'column sync.endpoints.calls': 'Number of calls.',
  'column sync.endpoints.failures': 'Failed calls.',
  'column sync.endpoints.last_status': 'HTTP status of the last call; null: no answer.',
  'column sync.endpoints.last_status_since': 'When the current series of calls with this status started.',
  'column sync.endpoints.last_called_at': 'When it was last called.',
  'column sync.endpoints.last_error': 'The last error; null after a success.',

  'table sync.reads':
    'Endpoints that may return data that another read has already brought: whether they ever differ, and how often they were skipped.',
  'column sync.reads.endpoint': 'The endpoint that may repeat data: method and path template.',
  'column sync.reads.same_as':
    'The read that brings the same record. After a #, its place inside the record of that read.',
  'column sync.reads.state':
    'redundant: no sample differed, so all are skipped except samples. needed: one differed, so all are read for seven days.',
  'column sync.reads.compared': 'Answers compared as whole records since it was last assumed to be redundant.',
  'column sync.reads.differed': 'Compared answers that differed.',
  'column sync.reads.skipped': 'Skipped requests.',
  'column sync.reads.since': 'When it entered this state.',
  'column sync.reads.sampled_at': 'When a sample was last read; null: not since it entered this state.',

  'table sync.records':
    'State of each record between reads. It is kept apart from the mirror because every read changes it.',
  'column sync.records.stream': 'Name of the stream.',
  'column sync.records.key': 'The key: one column as it is, several columns as a JSON array.',
  'column sync.records.list_hash': 'Hash of the record as the list last returned it.',
  'column sync.records.detail_hash': 'Hash of the record as its detail last returned it.',
  'column sync.records.detail_read_at': 'When its details were last read.',
  'column sync.records.projection': 'Version of the projection that wrote the row.',
  'column sync.records.listed_at': 'When the row was last written from the list, or compared with it.',
  'column sync.records.partly': 'True if requests were skipped when its details were last read: see sync.reads.',
  'column sync.records.changed_at': 'When a change was last detected. Older details are read again.',

  'table sync.sweep_pages': 'Keys that a sweep found, one row for each page.',
  'column sync.sweep_pages.run_id': 'sync.runs.id.',
  'column sync.sweep_pages.pass': 'Number of the pass through the list, from 1.',
  'column sync.sweep_pages.page': 'Number of the page in the pass.',
  'column sync.sweep_pages.keys': 'Keys on the page.',
  'table sync.sweep_ranges':
    'Key ranges in which the end of a sweep compares a table with its list. They are removed when the sweep has ended.',
  'column sync.sweep_ranges.run_id': 'sync.runs.id.',
  'column sync.sweep_ranges.range': 'Number of the range, from 0, in the order of the keys.',
  'column sync.sweep_ranges.begins': 'Its first key, inclusive; null: no lower bound.',
  'column sync.sweep_ranges.missing': 'Keys of its live rows that the sweep missed.',
  'table sync.sweep_parts': 'Keys of the pages of a sweep by range, until the range is compared or counted.',
  'column sync.sweep_parts.run_id': 'sync.runs.id.',
  'column sync.sweep_parts.range':
    'Number of the range: of the keys (sync.sweep_ranges), or of their hashes while a pass is counted.',
  'column sync.sweep_parts.pass': 'Pass of the last page in this part.',
  'column sync.sweep_parts.page': 'Last page in this part.',
  'column sync.sweep_parts.keys': 'Keys from its pages that lie in the range.',
  'table sync.list_pages':
    'List pages that came with an entity tag. Requests send the tag, and a page that still has it is answered without a body.',
  'column sync.list_pages.stream': 'Name of the stream.',
  'column sync.list_pages.name': 'Hash of the address of the page and of everything else that its content depends on.',
  'column sync.list_pages.tag': 'The entity tag (ETag).',
  'column sync.list_pages.keys': 'Keys of its records.',
  'column sync.list_pages.hash':
    'Hash of the hashes of its records. The tag is used while sync.records has the same ones.',
  'column sync.list_pages.next': 'Where the list continues.',
  'column sync.list_pages.read_at': 'When it was last received with its body.',
  'table sync.detail_tags':
    'Details whose answers came with entity tags. Requests send the tags, and answers that still have them come without a body.',
  'column sync.detail_tags.stream': 'Name of the stream.',
  'column sync.detail_tags.key': 'Key of the record that the details belong to.',
  'column sync.detail_tags.detail_hash': 'Hash of the details: the tags are used while sync.records has the same one.',
  'column sync.detail_tags.answers':
    'For each answer, its tag and its number of rows. The key is a hash of its address and of everything else that its content depends on.',
  'column sync.detail_tags.read_at': 'When all of them were last received with their bodies.',
  'table sync.partners':
    'The roles that own changes, consumers, refreshes or tokens, or are restricted. Rows name them by a key, which stays when a role is renamed and never passes to another.',
  'column sync.partners.partner':
    'The key: the first name of its role, or a random one if an earlier partner has that.',
  'column sync.partners.name': 'Name of the role when it was last seen.',
  'column sync.partners.role': 'Number of the role (pg_roles.oid); null: there is none in this cluster.',
  'column sync.partners.cluster':
    'Where the role has this number: the cluster, or the database if that is not known. In another one, the partner is bound to the role of its name once, as soon as that exists.',
  'column sync.partners.gone_at': 'When its role was found to be gone. What it left is for sync.hand_over.',
  'table sync.decisions':
    'Decisions about changes, held deletions and streams: hashes and ids, no values. Nothing is deleted from it. A backup must contain it.',
  'column sync.decisions.id': 'Number of the decision.',
  'column sync.decisions.at': 'When it was made.',
  'column sync.decisions.who': 'The database role. For the pages, the name typed there, which is not verified.',
  'column sync.decisions.via': 'sql, command, library or page.',
  'column sync.decisions.what':
    'retry, cancel, local, remote, took_effect, did_not, release, pause, resume, acknowledge, former_gone, former_lives or hand_over.',
  'column sync.decisions.target': 'What it concerns: change:17, run:52, stream:rentals, role:crm.',
  'column sync.decisions.plan': 'Hash of the plan that was decided about.',
  'column sync.decisions.result_id':
    'For took_effect, the record that the change created, if it was given. For release, sync.runs.id of the run that carries it out.',
  'column sync.decisions.done_at': 'When it took effect or failed; null: a worker has yet to carry it out.',
  'column sync.decisions.error': 'Why it did not take effect; null: it did, or is open.',
  'table sync.held': 'Deletions that need your decision.',
  'column sync.held.run_id': 'sync.runs.id.',
  'column sync.held.key': 'Key of the row.',
  'column sync.held.released_at': 'When it was released; -infinity: its run has not decided yet.',

  'table sync.quarantine': 'Records that could not be mirrored, one row each. A later valid version removes the row.',
  'column sync.quarantine.id': 'Number of the entry.',
  'column sync.quarantine.stream': 'Name of the stream.',
  'column sync.quarantine.key': 'Key of the record, or # and a hash of the record.',
  'column sync.quarantine.endpoint': 'The endpoint that returned it.',
  'column sync.quarantine.payload': 'The whole record. If jsonb cannot store it, a JSON string with its text.',
  'column sync.quarantine.reason': 'The field, the expected value and the actual value.',
  'column sync.quarantine.first_seen_at': 'When it was first received.',
  'column sync.quarantine.last_seen_at': 'When it was last received.',
  'column sync.quarantine.times': 'How often it was received.',
  'column sync.quarantine.request': 'Values of columns that come from the request, for a retry.',

  'table sync.unknown_fields':
    'Fields from the API that no column shows, because they are unknown or have an unexpected shape. They stay in the payload.',
  'column sync.unknown_fields.stream': 'Name of the stream.',
  'column sync.unknown_fields.path':
    'Dotted path in the record. For a known field, with the shape that was received: company (as array).',
  'column sync.unknown_fields.first_seen_at': 'When it was first seen.',
  'column sync.unknown_fields.last_seen_at': 'When it was last seen.',
  'column sync.unknown_fields.times': 'Number of records that had it.',
  'column sync.unknown_fields.sample': 'A sample value. For streams with personal data, only its JSON type.',

  'table sync.pinned':
    'Properties of the API that were probed once: page base, envelope, summary lists, prices in bulk, supported filters.',
  'column sync.pinned.key': 'The property.',
  'column sync.pinned.value': 'The result.',
  'column sync.pinned.probed_at': 'When it was probed.',
  'column sync.pinned.contradicted_at':
    'When an answer last contradicted it. It is still used if it was probed again since.',
  'column sync.pinned.contradiction': 'What contradicted it.',

  'table sync.gate': 'Circuit breaker and pauses of the API, shared by all workers.',
  'column sync.gate.id': 'Name of the gate.',
  'column sync.gate.state': 'State of the gate.',
  'column sync.gate.updated_at': 'When it last changed.',
  'function sync.lend_requests(int, text, int, int, boolean, int[], timestamptz)':
    'Lends a share of the request budget to a worker: how many requests it may send, and after how many milliseconds the first. A quota (an hour, 24 hours, a month) limits the share to what is left. If nothing is left, it returns when there may be some.',
  'function sync.take_from_quota(int[], text, int, int, timestamptz, timestamptz)':
    'Counts lent requests as used before they are sent. sync.lend_requests calls it.',
  'function sync.quota_windows(int[], timestamptz)':
    'Returns the use of a quota for an hour (1), 24 hours (2) and a month (3): limit, start of the window, requests used since.',
  'function sync.quota_pace(int[], timestamptz)':
    'Returns the requests an hour that a quota of 24 hours and of a month allow in the long run.',
  'table sync.request_counts':
    'Requests taken from API_QUOTA, one row for each minute with requests. Rows are kept for two months.',
  'column sync.request_counts.minute': 'Start of the minute.',
  'column sync.request_counts.total':
    'Requests taken from the first row to the end of this minute, without those that were returned.',
  'sequence sync.details_paced_until':
    'Until then the even share of API_QUOTA is used, in microseconds since 1970. Details may be six hours ahead of it.',
  'sequence sync.requests_lent_until':
    'Until then the requests of the budget are lent, in microseconds since 1970. The other sequences use the same unit.',
  'sequence sync.changes_wait_until': 'Until then changes wait at a worker, and reads and details give way.',
  'sequence sync.reads_wait_until': 'Until then reads wait at a worker, and details give way.',
  'sequence sync.details_lent_until': 'From then on details get a turn beside reads that wait.',
  'table sync.traffic': 'API calls, summed by minute and endpoint over all workers. Rows are kept for seven days.',
  'column sync.traffic.minute': 'Start of the minute.',
  'column sync.traffic.endpoint': 'Method and path template.',
  'column sync.traffic.calls': 'Attempts, including retries.',
  'column sync.traffic.failures': 'Attempts without a usable answer. 404 and 410 count as answers.',
  'column sync.traffic.throttled': 'Failed attempts with status 429.',
  'column sync.traffic.total_ms': 'Total time of all attempts, in milliseconds.',
  'column sync.traffic.slowest_ms': 'Time of the slowest attempt, in milliseconds.',
  'table sync.privacy':
    'How personal data is stored. Migrate writes it into an empty database, `privacy apply` changes it. A process with other settings refuses to work.',
  'column sync.privacy.only_row': 'Always true: there is one row.',
  'column sync.privacy.mode': 'PERSONAL_DATA: keep, hash or drop.',
  'column sync.privacy.columns': 'Columns with another mode: {"users.email": "keep"}.',
  'column sync.privacy.key_fingerprint': 'Identifies PERSONAL_DATA_KEY without revealing it; null: nothing is hashed.',
  'column sync.privacy.generation':
    'Counts changes of this row, of sync.erased and of the schema. A process that knows an older number writes nothing.',
  'column sync.privacy.applying':
    'Not null while `privacy apply` is running, or was stopped before its end. Until it ends, no process works.',
  'column sync.privacy.set_at': 'When the settings were written; null: the database is older than these settings.',
  'table sync.erased':
    'Persons of whom only the key is kept, even when they are read again. An insert erases a person. A backup must contain it.',
  'column sync.erased.stream': 'users, or rental_crew_members.',
  'column sync.erased.key': 'The key of the row, as one text.',
  'column sync.erased.erased_at': 'When the person was erased.',

  'table sync.access_tokens':
    'Access tokens of `serve`: hashes and permissions. The API does not have them, so a backup must contain them.',
  'column sync.access_tokens.id': 'Number of the token, which is also part of the token.',
  'column sync.access_tokens.name': 'Name of the token. Revoked tokens may share one.',
  'column sync.access_tokens.hash': 'SHA-256 of the token.',
  'column sync.access_tokens.role':
    'Key of the partner (sync.partners) whose role reads and queues changes for the token.',
  'column sync.access_tokens.companies': 'mirror.companies.id of each company that it may see; null: all.',
  'column sync.access_tokens.personal': 'True if it may see personal fields, users and documents.',
  'column sync.access_tokens.write': 'True if it may write.',
  'column sync.access_tokens.created_at': 'When it was created.',
  'column sync.access_tokens.expires_at': 'When it expires; null: never.',
  'column sync.access_tokens.revoked_at': 'When it was revoked; null: it was not revoked.',
  'table sync.calendar_keys':
    'Hashes of the keys of the calendars that `serve` shows, one for each resource. The API does not have them, so a backup must contain them.',
  'column sync.calendar_keys.resource_id': 'mirror.resources.id.',
  'column sync.calendar_keys.hash': 'SHA-256 of the key.',
  'column sync.calendar_keys.created_at': 'When the key was created.',
  'table sync.fleets':
    'Resources that stand for several boats: a slot has shown more than one boat free. Their rentals may overlap.',
  'column sync.fleets.resource_id': 'mirror.resources.id.',
  'column sync.fleets.seen_at': 'When this was first detected.',

  'table sync.settings': 'Program settings that the database must know.',
  'column sync.settings.only_row': 'Always true: there is one row.',
  'column sync.settings.not_taking_place':
    'NOT_TAKING_PLACE at the last migrate: further statuses of rentals that do not take place.',
  'column sync.settings.time_zone':
    'TIME_ZONE at the last migrate. It defines "today", and the zone of a date-time without an offset.',
  'column sync.settings.outbox_limit':
    'OUTBOX_LIMIT at the last start: the number of open changes that a role may have; null: no limit.',
  'column sync.settings.api': 'The API that filled this mirror: its address, or `sandbox`; null: not known yet.',
  'table sync.repeatable': 'The applied version of comments, views, functions and grants.',
  'column sync.repeatable.only_row': 'Always true: there is one row.',
  'column sync.repeatable.version': 'Number of the release and hash of all repeatable steps.',
  'column sync.repeatable.applied_at': 'When they were applied.',
}
