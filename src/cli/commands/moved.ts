// `moved`: what seems to be another one is the same, at a new place.

import { BoatMirrorError } from '../../errors.ts'
import { counted } from '../../format.ts'
import { settleFormer } from '../../outbox/former.ts'
import { moveApi } from '../../profile/mirrored-api.ts'
import type { CommandContext, Json } from '../context.ts'
import { print, printJson } from '../terminal/output.ts'

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
