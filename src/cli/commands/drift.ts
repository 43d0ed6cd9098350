// `drift`: fields seen upstream that no column shows, new or of another shape, which stay in `_payload`; statuses nobody knows.
// `acknowledge`: the new fields are known.

import { existingStream } from '../../catalog/catalog.ts'
import { instant } from '../../format.ts'
import { rentalDoubts } from '../../inspect/report-queries.ts'
import { decideStream } from '../../sync/decisions.ts'
import { readDrift } from '../../sync/unknown-fields.ts'
import type { CommandContext, Json } from '../context.ts'
import { decidedBy } from '../decided-by.ts'
import { statusLines } from '../rental-doubts.ts'
import { oneLine, print, printJson, table } from '../terminal/output.ts'

export async function runDrift(context: CommandContext, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const fields = await readDrift(opened.database.pool)
  const doubts = await rentalDoubts(opened.database.pool)
  // A status is a value of a known field: as `times`, it has its rentals.
  const values = doubts.statuses.map(({ status, rentals: times, amounts }) => {
    return {
      stream: 'rentals',
      path: 'status',
      firstSeenAt: null,
      lastSeenAt: null,
      times,
      sample: JSON.stringify(status),
      amounts,
    }
  })
  if (json) return printJson([...fields, ...values])
  for (const line of statusLines(doubts)) print(`${line}\n`)
  if (fields.length === 0) return print('All fields seen upstream are known and have the expected shape.')
  print(
    table(
      ['STREAM', 'FIELD', 'SINCE (UTC)', 'LAST SEEN (UTC)', 'TIMES', 'SAMPLE'],
      fields.map(({ stream, path, firstSeenAt, lastSeenAt, times, sample }) => [
        stream,
        path,
        instant(firstSeenAt),
        instant(lastSeenAt),
        times,
        sample === null ? null : oneLine(sample, 60),
      ]),
    ),
  )
  print("\nTheir values are in column _payload of the table: select _payload #> '{field}' from mirror.STREAM")
}

export async function runAcknowledge(context: CommandContext, name: string, { json }: Json): Promise<void> {
  const stream = existingStream(name).name
  await using opened = await context.openDatabase()
  const decision = await decideStream(opened.database.pool, 'acknowledge', stream, decidedBy({}))
  if (json) printJson({ decision: Number(decision), stream })
  else print(`The new fields of ${stream} no longer need attention.`)
}
