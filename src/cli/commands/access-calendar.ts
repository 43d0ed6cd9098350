// `access calendar`: the key of a boat's calendar.

import { BoatMirrorError } from '../../errors.ts'
import { createCalendarKey, revokeCalendarKey } from '../../serve/access/calendar-keys.ts'
import { changing } from '../access-changes.ts'
import { type CommandContext, type Json, present } from '../context.ts'
import { jsonText, print, printJson, printNote } from '../terminal/output.ts'
import { writeSecret } from '../terminal/unwritten.ts'

export async function runCalendar(
  context: CommandContext,
  resource: string,
  { revoke, json }: Json & { readonly revoke: boolean },
): Promise<void> {
  if (revoke) return await revokeKey(context, resource, json)
  const { host, port } = context.config.serveListen
  const shown = host.includes(':') ? `[${host}]` : host
  await changing(context, async (db) => {
    const created = await createCalendarKey(db, resource)
    const key = present(created, `resource ${resource} in the mirror`, 'report fleet lists the resources.')
    const address = `http://${shown}:${port}/calendars/${encodeURIComponent(resource)}.ics?key=${key}`
    await writeSecret(json ? jsonText({ resource, address, key }) : address)
  })
  if (!json) printNote('The key is not shown again. Earlier keys no longer open this calendar.')
}

async function revokeKey(context: CommandContext, resource: string, json: boolean): Promise<void> {
  if (!(await changing(context, (db) => revokeCalendarKey(db, resource))))
    throw new BoatMirrorError('NOT_FOUND', `The calendar of resource ${resource} has no key.`, {
      remedy: `Create one with: boat-mirror access calendar ${resource}`,
    })
  if (json) return printJson({ resource, address: null, key: null })
  print(`The calendar of resource ${resource} no longer has a key.`)
}
