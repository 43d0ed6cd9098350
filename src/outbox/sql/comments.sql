-- What the tables of the outbox mean.

comment on table outbox.queue is
  'Every change: what a partner wished, how far it got, what the API said. People read outbox.changes.';
comment on column outbox.queue.target is 'Path parameters as given; a value may be {"change": n}.';
comment on column outbox.queue.body is
  'Fields as given: absent leaves, null clears. SQL null once the person it describes was erased.';
comment on column outbox.queue.aggregate is
  'What keeps its order: rental:42, user:7, or change:17 while change 17 has yet to create it.';
comment on column outbox.queue.veiled is
  'The change is over, and its personal values were hashed or dropped: it can''t be sent again.';
comment on column outbox.queue.record_key is 'Key of the written record in its mirror table, once it is known.';
comment on column outbox.queue.base is 'Field values the editor saw: the mirror at enqueue, overlaid by options.base.';
comment on column outbox.queue.left_behind is
  'Writable fields as the API showed them after this change: the base of one’s own later changes.';
comment on column outbox.queue.kept_remote is 'Conflicting fields for which a person took the remote value: not sent.';
comment on column outbox.queue.left_out is 'Untouched fields whose present value the API refused: not sent.';
comment on column outbox.queue.proof is 'What was there before sending: pre-image of the record, ids of the collection.';
comment on column outbox.queue.departed is
  'True from the commit before a request leaves until its outcome is known: reconcile, never send as new.';
comment on column outbox.queue.looks is 'Reads in a row that were to reconcile this change and did not settle it.';
comment on column outbox.queue.fence is 'Counts claims; whoever holds an older number may no longer settle.';
comment on column outbox.queue.deadline is
  'When the pending rental this belongs to expires upstream (15 minutes after its creation).';
comment on column outbox.queue.seen_at is
  'When a person took local and so saw what the API shows: what earlier changes left before that is no base any more.';
comment on column outbox.queue.settled_xid is 'Transaction that made the change done.';
comment on column outbox.queue.seen_snapshot is
  'What was committed when the base was read: changes done by later transactions were not seen.';

comment on table outbox.dependencies is
  'Which change waits for which: references {"change": n}, and a rental’s creation for the user to be assigned.';
comment on column outbox.dependencies.implied_by is
  'The assignment that makes a rental’s creation wait for its user; null: a reference of its own.';

comment on table outbox.operations is
  'The 22 write operations, filled from the catalog: what outbox.enqueue accepts.';

comment on table outbox.requests is
  'The changes that programs asked for over HTTP: by which token, and with which content. The same request again is the same change.';
comment on column outbox.requests.token is 'Id of the access token.';
comment on column outbox.requests.idempotency_key is 'Idempotency-Key of the request; null: it had none.';
comment on column outbox.requests.fingerprint is 'Hash of operation, target, body and If-Match.';
comment on column outbox.requests.place is 'Place in the array that the request brought; 0 where it brought one object.';
comment on column outbox.requests.received_at is 'When the request came for the first time.';

comment on table outbox.installation is 'One row: what makes the references of this installation unique.';

comment on table outbox.done_counts is
  'How many changes are done: the sum of all rows. Those who settle or delete changes add one; they are added up once an hour.';
comment on column outbox.done_counts.count is 'Changes that became done, less those that were deleted.';
comment on column outbox.done_counts.proven_at is
  'When all changes were counted last; null: of what came since.';
