// The numbered migrations, listed by hand, in order. One that has landed is never edited.

import type { Migration } from 'kysely'
import * as baseline from './0001_baseline.ts'
import * as privacy from './0003_privacy.ts'

export const migrations: Readonly<Record<string, Migration>> = {
  '0001_baseline': baseline,
  '0003_privacy': privacy,
}
