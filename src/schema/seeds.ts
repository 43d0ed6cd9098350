// One row in sync.streams for each stream and one in sync.endpoints for each read, from the start.

import { readEndpoints, streams } from '../catalog/catalog.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { literal } from '../database/sql.ts'

const rows = (values: readonly string[]): string => values.map((value) => `(${literal(value)})`).join(', ')

export const seeds: RepeatableStep = {
  name: 'seeds',
  sql: `insert into sync.streams (stream) values ${rows(streams.map((stream) => stream.name))} on conflict do nothing;
insert into sync.endpoints (endpoint) values ${rows(readEndpoints)} on conflict do nothing;`,
}
