// The name of one of our processes in the database, which distinguishes its leases and work from those of others.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

/** `host:pid`. */
export const processName = (): string => `${hostname()}:${process.pid}`

/** The same for one life of it: another process that comes to have the same host and number is not taken for it. */
export const processLife = (): string => `${processName()}:${randomUUID().slice(0, 8)}`
