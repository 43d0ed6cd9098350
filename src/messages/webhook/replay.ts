// Sends earlier changes again, by setting the webhook's consumer back. The sending worker continues from there. A batch in flight belongs
// to the former position, and is not acknowledged.

import type { Database } from '../../database/database.ts'
import type { Queryable } from '../../database/sql.ts'
import { sqlStateOf } from '../../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../../errors.ts'
import { webhookConsumer } from '../../inspect/feed.ts'
import { changesChannel } from '../../mirror/change-notifier.ts'
import { placeBefore } from '../../mirror/webhook-deliveries.ts'

const deliveriesCommand = 'boat-mirror webhook deliveries'

/** The cursor of a place; null: the start. @throws BoatMirrorError NOT_FOUND for a call that is not kept */
async function cursorOf(db: Queryable, place: string): Promise<string | null> {
  if (!place.startsWith('msg_')) return place === 'start' ? null : place
  const cursor = await placeBefore(db, place)
  if (cursor !== undefined) return cursor
  throw new BoatMirrorError('NOT_FOUND', `The kept deliveries have no call ${place}.`, {
    remedy: `List them with: ${deliveriesCommand}`,
  })
}

/** Locks the consumer, so that no batch is made meanwhile. @returns whether what follows is unsent @throws BoatMirrorError NOT_FOUND */
async function liesAhead(db: Queryable, cursor: string | null): Promise<boolean> {
  const { rows } = await db.query<{ ahead: boolean }>(
    `select not c.lost and p.parts is not null and (c.epoch is distinct from mirror.feed_epoch()
         or p.parts[1] = c.epoch::text and (p.parts[2]::xid8, p.parts[3]::bigint) > (c.xid, c.seq)) as ahead
     from sync.consumer_positions c cross join (select case when $2::text is not null then mirror.cursor_parts($2) end as parts) p where c.name = $1
     for update of c`,
    [webhookConsumer, cursor],
  )
  if (rows[0] !== undefined) return rows[0].ahead === true
  throw new BoatMirrorError('NOT_FOUND', 'The webhook has not sent any calls yet.', {
    remedy: 'Set WEBHOOK_URL and WEBHOOK_SECRET, and start a worker.',
  })
}

/**
 * Sets the consumer back and notifies the worker.
 * @param place `start`, a cursor of the feed, or the id of a call that was sent
 * @returns the cursor after which everything is sent again; null: from the start of the log
 * @throws BoatMirrorError NOT_FOUND where nothing was sent, or for an unknown call; USAGE for a position that lies
 * ahead or is invalid
 */
export async function replayFrom(database: Database, place: string): Promise<string | null> {
  const cursor = await cursorOf(database.pool, place)
  try {
    await database.transaction(async (client) => {
      if (await liesAhead(client, cursor))
        throw new BoatMirrorError('USAGE', `The webhook has not sent the changes after ${cursor} yet.`, {
          remedy: `A replay only goes back. To skip changes: select mirror.reset_consumer('${webhookConsumer}', '${cursor}')`,
        })
      await client.query('select mirror.reset_consumer($1, $2)', [webhookConsumer, cursor])
    })
  } catch (error) {
    if (sqlStateOf(error) !== '22023') throw error
    throw new BoatMirrorError('USAGE', messageOf(error), { remedy: `List the calls with: ${deliveriesCommand}` })
  }
  await database.pool.query(`notify ${changesChannel}`)
  return cursor
}
