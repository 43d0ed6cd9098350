// `drift`: fields seen upstream that no column shows, new or of another shape; they stay in `_payload`.

import type { Command } from 'commander'
import { instant } from '../../format.ts'
import { readDrift } from '../../state/unknown-fields.ts'
import { action, type CommandContext, type Json, quiet, withJson } from '../context.ts'
import { oneLine, print, printJson, table } from '../terminal/output.ts'

/** Registers `drift`. */
export function registerDrift(program: Command): void {
  withJson(
    program
      .command('drift')
      .description(
        'fields seen upstream that no column shows, new or of another shape: since when, how often, with a sample',
      ),
  ).action(action(runDrift, quiet))
}

async function runDrift(context: CommandContext, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const fields = await readDrift(opened.database.pool)
  if (json) return printJson(fields)
  if (fields.length === 0) return print('Every field that was seen upstream is known, in its shape.')
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
  print("\nTheir values are in the table's column _payload: select _payload #> '{field}' from mirror.STREAM")
}
