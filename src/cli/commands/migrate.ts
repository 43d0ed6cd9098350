// `migrate`: brings the database up to date, BullMQ's own tables too; `--status` only looks. `moved`: what seems to be another API or
// database is the same, at a new place.

import { openServer, prepareSchema } from '../../app.ts'
import type { Config } from '../../config.ts'
import { openDatabase } from '../../database/database.ts'
import { BoatMirrorError } from '../../errors.ts'
import { counted } from '../../format.ts'
import type { Logger } from '../../log.ts'
import { settleFormer } from '../../outbox/former.ts'
import { saveOutboxLimit } from '../../outbox/inspect.ts'
import { moveApi } from '../../profile/mirrored-api.ts'
import { isCurrent, type MigrationStatus, migrationStatus } from '../../schema/migrate.ts'
import type { CommandContext, ExitCode, Json } from '../context.ts'
import { print, printJson, printText, table } from '../terminal/output.ts'
import { seekDatabase } from '../worker-mark.ts'

export async function runMigrate(
  { config, log, signal }: CommandContext,
  options: Json & { readonly status: boolean },
): Promise<ExitCode> {
  await seekDatabase(config, log, !options.status)
  const server = await openServer(config, log)
  try {
    const before = await migrationStatus(server.directUrl)
    if (options.status) return showStatus(before, options.json)
    await prepareSchema(config, server.directUrl, log, signal)
    await saveLimit(server.url, config, log)
    if (options.json) printJson({ applied: before.pending })
    else if (before.pending.length > 0) print(`Applied ${before.pending.join(', ')}.`)
    else print(before.repeatableCurrent ? 'The database is up to date.' : 'Updated views, functions and grants.')
    return 0
  } finally {
    await server.close()
  }
}

async function saveLimit(url: string, { outboxLimit }: Config, log: Logger): Promise<void> {
  const database = openDatabase({ url, applicationName: 'boat-mirror migrate', max: 1, log })
  try {
    await saveOutboxLimit(database.pool, outboxLimit)
  } finally {
    await database.close()
  }
}

function showStatus(status: MigrationStatus, json: boolean): ExitCode {
  const current = isCurrent(status)
  if (json) {
    printJson({ current, ...status })
    return current ? 0 : 1
  }
  const rows = [
    ...status.applied.map((name) => [name, 'applied']),
    ...status.pending.map((name) => [name, 'missing']),
    ...status.unknown.map((name) => [name, 'applied by a newer version']),
    ['views, functions, comments, grants', status.repeatableCurrent ? 'of this version' : 'of another version'],
  ]
  print(table(['MIGRATION', 'STATE'], rows))
  if (status.unknown.length > 0)
    print('\nThe database is newer than this program. Use the newer version of boat-mirror.')
  else if (!current) printText('\nApply the missing migrations with: boat-mirror migrate')
  return current ? 0 : 1
}

/** Says that the API has the configured address now. @throws BoatMirrorError USAGE where that changes nothing */
export async function runApi({ config: { api }, openDatabase }: CommandContext, { json }: Json): Promise<void> {
  await using opened = await openDatabase()
  const moved = api.baseUrl === null ? undefined : await moveApi(opened.database.pool, api.baseUrl)
  if (moved === undefined)
    throw new BoatMirrorError('USAGE', `API_BASE_URL is ${api.baseUrl ?? 'not set'}. Set it to the API's new address.`)
  if (json) printJson(moved)
  else print(`Before: ${moved.before ?? 'none'}\nNow:    ${moved.after}`)
}

type Former = Json & { readonly undetected: boolean }

/** Decides about the changes of the database that this one is a copy of. @throws BoatMirrorError USAGE where there is none */
export async function runDatabase(
  { openDatabase }: CommandContext,
  state: 'gone' | 'lives',
  { undetected, json }: Former,
): Promise<void> {
  await using opened = await openDatabase()
  const changes = await settleFormer(opened.database.pool, state, undetected)
  if (json) printJson({ state, changes })
  else if (changes === 0) print('No change of the former database waits here.')
  else if (state === 'lives') print(`Canceled ${counted(changes, 'change')}: the former database decides about them.`)
  else
    print(
      `${counted(changes, 'change')} will be verified, and sent if they had no effect. Run boat-mirror push, or a worker.`,
    )
}
