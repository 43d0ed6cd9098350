-- What the tables of the outbox mean.

comment on table outbox.queue is
  'Every change: what was requested, its progress, and the answer of the API. Read it through outbox.changes.';
comment on column outbox.queue.target is 'Path parameters as given. A value may be {"change": n}.';
comment on column outbox.queue.body is
  'Fields as given: an absent field stays as it is, null clears it. SQL null once the person it describes was erased.';
comment on column outbox.queue.enqueued_by is 'Key of the partner (sync.partners): outbox.changes shows the name of its role.';
comment on column outbox.queue.aggregate is
  'The record whose changes are sent in order: rental:42, user:7, or change:17 until change 17 has created it.';
comment on column outbox.queue.veiled is
  'True if the change is settled and its personal values were hashed or dropped. It cannot be sent again.';
comment on column outbox.queue.record_key is 'Key of the written record in its mirror table, once known.';
comment on column outbox.queue.base is 'Field values that the editor saw: those of the mirror at enqueue, overridden by options.base.';
comment on column outbox.queue.left_behind is
  'Writable fields as the API showed them after this change. Later changes of the same role use them as base.';
comment on column outbox.queue.kept_remote is 'Conflicting fields for which you chose the remote value. They are not sent.';
comment on column outbox.queue.left_out is 'Fields outside the change whose current value the API refused. They are not sent.';
comment on column outbox.queue.proof is 'State before sending: the record, or the ids in the collection.';
comment on column outbox.queue.departed is
  'True from the commit before the request is sent until its outcome is known. While it is true, the change is reconciled, never sent as new.';
comment on column outbox.queue.looks is 'Consecutive reads that tried to reconcile this change and did not settle it.';
comment on column outbox.queue.fence is 'Random number of the claim. A worker with another number can no longer send or settle the change.';
comment on column outbox.queue.deadline is
  'When the pending rental that the change belongs to expires in the API (15 minutes after its creation).';
comment on column outbox.queue.seen_at is
  'When the choice local was made, with the API''s values in view. What earlier changes left before that time is no longer used as base.';
comment on column outbox.queue.settled_xid is 'Transaction that set the change to done.';
comment on column outbox.queue.seen_snapshot is
  'Snapshot of the base. It does not include changes that later transactions set to done.';
comment on column outbox.queue.epoch is
  'History of the database (sync.history) in which the change was queued or last claimed. In another history it is verified before it is sent.';

comment on table outbox.dependencies is
  'Which change waits for which: by a reference {"change": n}, or the creation of a rental for its user.';
comment on column outbox.dependencies.implied_by is
  'The assignment that makes the creation of a rental wait for its user; null: the change itself has the reference.';

comment on table outbox.counted_roles is 'The partners whose open changes were counted for OUTBOX_LIMIT.';
comment on column outbox.counted_roles.counted_by is 'Last transaction that counted them. One with an older snapshot must be repeated.';

comment on table outbox.operations is
  'The 22 write operations that outbox.enqueue accepts, filled from the catalog.';

comment on table outbox.requests is
  'The changes that programs requested over HTTP, with their token and a hash of their content. The same request again returns the same change.';
comment on column outbox.requests.token is 'Id of the access token.';
comment on column outbox.requests.idempotency_key is 'Idempotency-Key of the request; null: it had none.';
comment on column outbox.requests.fingerprint is 'Hash of operation, target, body and If-Match.';
comment on column outbox.requests.place is 'Position in the array of the request; 0 if the request was one object.';
comment on column outbox.requests.received_at is 'When the request was first received.';

comment on table outbox.installation is
  'One row: what makes the references of this installation unique, and the history of the database in which it was last seen (sync.history).';
comment on column outbox.installation.since is 'When this history was noticed, or when it was decided what became of the former database.';
comment on column outbox.installation.undecided is 'True in a copy until outbox.former_database: changes of other histories are not sent.';
comment on column outbox.installation.former is 'Id and number of the installations that this database is a copy of.';

comment on table outbox.done_counts is
  'Number of changes that are done: the sum of all rows. Each transaction that settles or deletes changes adds a row. Rows are added up once an hour.';
comment on column outbox.done_counts.count is 'Changes set to done, less those deleted.';
comment on column outbox.done_counts.proven_at is
  'When all changes were last counted; null: a row added since.';
