// The numbered migrations, listed by hand, in order. One that has landed is never edited.

import type { Migration } from 'kysely'
import * as schemas from './0001_schemas.ts'
import * as reads from './0002_reads.ts'
import * as reasons from './0003_reasons.ts'
import * as reportKeys from './0004_report_keys.ts'
import * as closes from './0005_closes.ts'
import * as pace from './0006_pace.ts'
import * as formerCompanies from './0007_former_companies.ts'

export const migrations: Readonly<Record<string, Migration>> = {
  '0001_schemas': schemas,
  '0002_reads': reads,
  '0003_reasons': reasons,
  '0004_report_keys': reportKeys,
  '0005_closes': closes,
  '0006_pace': pace,
  '0007_former_companies': formerCompanies,
}
