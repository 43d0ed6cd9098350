// `moved`: what seems to be another one is the same, at a new place.

import { BoatMirrorError } from '../../errors.ts'
import { moveApi } from '../../state/shared/mirrored-api.ts'
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
