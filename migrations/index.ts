// The numbered migrations, listed by hand, in order. One that has landed is never edited.

import type { Migration } from 'kysely'
import * as baseline from './0001_baseline.ts'
import * as quota from './0002_quota.ts'
import * as privacy from './0003_privacy.ts'
import * as decisions from './0004_decisions.ts'
import * as webhookDeliveries from './0005_webhook_deliveries.ts'
import * as freshness from './0006_freshness.ts'
import * as privacyApply from './0007_privacy_apply.ts'
import * as access from './0008_access.ts'
import * as requests from './0009_requests.ts'
import * as servers from './0010_servers.ts'
import * as history from './0011_history.ts'
import * as outboxHistory from './0012_outbox_history.ts'
import * as order from './0013_order.ts'
import * as api from './0014_api.ts'
import * as partners from './0015_partners.ts'
import * as moments from './0016_moments.ts'
import * as replicaIdentity from './0017_replica_identity.ts'
import * as fields from './0018_fields.ts'

export const migrations: Readonly<Record<string, Migration>> = {
  '0001_baseline': baseline,
  '0002_quota': quota,
  '0003_privacy': privacy,
  '0004_decisions': decisions,
  '0005_webhook_deliveries': webhookDeliveries,
  '0006_freshness': freshness,
  '0007_privacy_apply': privacyApply,
  '0008_access': access,
  '0009_requests': requests,
  '0010_servers': servers,
  '0011_history': history,
  '0012_outbox_history': outboxHistory,
  '0013_order': order,
  '0014_api': api,
  '0015_partners': partners,
  '0016_moments': moments,
  '0017_replica_identity': replicaIdentity,
  '0018_fields': fields,
}
