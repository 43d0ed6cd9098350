// `pause`, `resume`: a stream is not read for a while.

import { descendantsOf, existingStream } from '../../catalog/catalog.ts'
import { decideStream } from '../../state/decisions.ts'
import { pausedStreams } from '../../state/due/stream-state.ts'
import type { CommandContext, Json } from '../context.ts'
import { print, printJson } from '../terminal/output.ts'

export const runPause = (context: CommandContext, name: string, options: Json): Promise<void> =>
  decide(context, 'pause', name, options)

export const runResume = (context: CommandContext, name: string, options: Json): Promise<void> =>
  decide(context, 'resume', name, options)

async function decide(context: CommandContext, what: 'pause' | 'resume', name: string, { json }: Json): Promise<void> {
  const stream = existingStream(name)
  await using opened = await context.openDatabase()
  const { pool } = opened.database
  const id = await decideStream(pool, what, stream.name, { via: 'command' })
  const own = [stream.name, ...descendantsOf(stream.name).map((child) => child.name)]
  const paused = (await pausedStreams(pool)).filter((each) => own.includes(each.stream))
  if (json) printJson({ decision: Number(id), paused })
  else
    print(
      paused.length === 0
        ? `${stream.name} is read again.`
        : sentence(
            stream.name,
            paused.map((each) => each.stream),
          ),
    )
}

const sentence = (name: string, streams: readonly string[]): string =>
  `${streams.join(', ')} ${streams.length === 1 ? 'is' : 'are'} paused. Resume with: boat-mirror resume ${name}`
