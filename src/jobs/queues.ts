// Names of the queues and what their jobs carry: ids, never content. A job is a wake-up; the tables say what to do.

/** Carries out tasks of syncs. */
export const syncQueue = 'boat-mirror-sync'
/** Wakes streams when they are due; at most one job at a time over all workers. */
export const scheduleQueue = 'boat-mirror-schedule'
/** Wakes the pusher. */
export const pushQueue = 'boat-mirror-push'

export const queueNames = [syncQueue, scheduleQueue, pushQueue] as const

export type SyncJob = { readonly taskId: string }
export type TickJob = { readonly stream: string }
