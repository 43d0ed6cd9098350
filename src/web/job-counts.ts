// How many jobs each queue holds, for /metrics.

import type { OperatorContext } from './context.ts'

export type JobCount = { readonly queue: string; readonly state: string; readonly count: number }

export type JobCounts = {
  /** Jobs by queue and state, without the queues that do not answer. */
  read(): Promise<readonly JobCount[]>
  close(): Promise<void>
}

/** Opens the queues in the background: the pages do not wait for the backend. */
export function openJobCounts({ queue, queueNames }: Pick<OperatorContext, 'queue' | 'queueNames'>): JobCounts {
  const opening = queueNames.map(async (name) => ({ name, opened: await queue.openQueue(name) }))
  const settled = Promise.allSettled(opening)
  return {
    read: async () => {
      const counted = opening.map(async (each) => {
        const { name, opened } = await each
        return Object.entries(await opened.getJobCounts()).map(([state, count]) => ({ queue: name, state, count }))
      })
      const results = await Promise.allSettled(counted)
      return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    },
    close: async () => {
      const queues = (await settled).flatMap((each) => (each.status === 'fulfilled' ? [each.value.opened] : []))
      await Promise.allSettled(queues.map((each) => each.close()))
    },
  }
}
