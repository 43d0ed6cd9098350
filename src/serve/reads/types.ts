// What the reads share: a request as they see it, and what they answer.

import type { Caller } from '../types.ts'
import type { Query } from './query.ts'

export type ReadRequest = {
  readonly caller: Caller
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  /** Query the API itself first: `?fresh=1` of a read that answers one record, or `Cache-Control: no-cache`. */
  readonly fresh: boolean
  /** Where the API can't be asked, no stored record does: `Cache-Control: stale-if-error=0`. */
  readonly noStale: boolean
  /** The query as it came, without what carries a credential. */
  readonly search: string
}

export type Served = {
  /** JSON text, or its bytes in UTF-8. */
  readonly body: string | Buffer
  /** Everything older than this upstream is in it. */
  readonly asOf: Date
  /** Without quotes. */
  readonly tag: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Handler = (request: ReadRequest) => Promise<Served>
