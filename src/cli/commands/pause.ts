// `pause`, `resume`: a stream is not read for a while.

import { descendantsOf, existingStream } from '../../catalog/catalog.ts'
import type { Database } from '../../database/database.ts'
import { begin } from '../../database/session.ts'
import type { Queryable } from '../../database/sql.ts'
import { decideStream, planOf } from '../../sync/decisions.ts'
import { type PausedStream, pausedStreams } from '../../sync/due/stream-state.ts'
import { type CommandContext, decidedBy, type Expected, type Json } from '../context.ts'
import { print, printJson, printText } from '../terminal/output.ts'

type Options = Json & Expected & { readonly dryRun: boolean }

export const runPause = (context: CommandContext, name: string, options: Options): Promise<void> =>
  decide(context, 'pause', name, options)

export const runResume = (context: CommandContext, name: string, options: Options): Promise<void> =>
  decide(context, 'resume', name, options)

async function decide(
  context: CommandContext,
  what: 'pause' | 'resume',
  name: string,
  { json, dryRun, ...expected }: Options,
): Promise<void> {
  const stream = existingStream(name).name
  const own = [stream, ...descendantsOf(stream).map((child) => child.name)]
  const pausedNow = async (db: Queryable) => (await pausedStreams(db)).filter((each) => own.includes(each.stream))
  await using opened = await context.openDatabase()
  const apply = async (db: Queryable) => {
    const [plan, before] = [await planOf(db, `stream:${stream}`), await pausedNow(db)]
    const decision = await decideStream(db, what, stream, decidedBy(expected))
    const paused = await pausedNow(db)
    const changed = own.filter((each) => isIn(before, each) !== isIn(paused, each))
    return { plan, decision, paused, changed }
  }
  if (dryRun) {
    const { plan, changed } = await rolledBack(opened.database, apply)
    if (json) return printJson({ plan, streams: changed })
    return printText(`Would ${what} ${changed.join(', ')}.\nPlan: ${plan}`)
  }
  const { decision, paused } = await opened.database.transaction(apply)
  if (json) printJson({ decision: Number(decision), paused })
  else if (paused.length === 0) print(`${stream} is read again.`)
  else {
    const names = paused.map((each) => each.stream).join(', ')
    printText(`${names} ${paused.length === 1 ? 'is' : 'are'} paused. Resume with: boat-mirror resume ${stream}`)
  }
}

const isIn = (paused: readonly PausedStream[], name: string): boolean => paused.some(({ stream }) => stream === name)

/** What `work` returns, once nothing that it did is there any more. */
async function rolledBack<T>({ pool }: Database, work: (db: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query(begin(client))
    return await work(client)
  } finally {
    await client.query('rollback').finally(() => client.release())
  }
}
