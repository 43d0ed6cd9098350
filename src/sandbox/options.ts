// What a sandbox can be told, with its defaults: everything that is not documented (docs/sources.md, silence) is an option here.

import type { FaultRule } from './http/faults.ts'

export const pagingStyles = ['page', 'offset', 'cursor', 'link'] as const
export type PagingStyle = (typeof pagingStyles)[number]

export const envelopes = ['bare', 'data', 'items', 'results', 'hydra', 'nested'] as const
export type Envelope = (typeof envelopes)[number]

export const beforeFirstAnswers = ['refuse', 'first', 'empty'] as const

export interface SandboxOptions {
  /** Port to listen on; 0 takes a free one. */
  readonly port: number
  readonly host: string
  readonly seed: number
  /** Number of rentals; everything else is in proportion. */
  readonly size: number
  /** Where the sandbox clock stands still; null: it runs with the host's. */
  readonly now: Date | null
  /** `none`, `bearer`, `basic` (the token is `user:password`), `header:NAME`, `query:NAME`. */
  readonly auth: string
  readonly token: string
  readonly paging: PagingStyle
  /** Number of the first page. */
  readonly pageBase: 0 | 1
  readonly pageParam: string
  readonly sizeParam: string
  /** Page size when none is asked for. */
  readonly defaultPageSize: number
  /** Largest page size; more is lowered to it without a word. */
  readonly maxPageSize: number
  /** What page 0 answers where pages begin with 1. */
  readonly beforeFirst: (typeof beforeFirstAnswers)[number]
  readonly envelope: Envelope
  /** Wraps the lists below a record, too. */
  readonly envelopeEverywhere: boolean
  /** Whether envelopes say the total. */
  readonly totals: boolean
  /** Name of a header with the total; null: none. */
  readonly totalHeader: string | null
  /** Pages the reference lists, too. */
  readonly pageReferences: boolean
  /** List items are a summary of the records. */
  readonly summary: boolean
  /** A change below a record moves its `lastModificationDatetime`. */
  readonly touch: boolean
  readonly onlyStatusChanges: boolean
  readonly uniqueEmails: boolean
  /** Milliseconds before each answer. */
  readonly latencyMs: number
  /** Up to so many further milliseconds, seeded. */
  readonly jitterMs: number
  /** Requests per second; 0: no limit. */
  readonly rateLimit: number
  readonly retryAfter: 'seconds' | 'date'
  readonly faults: readonly FaultRule[]
}

export const defaultOptions: SandboxOptions = {
  port: 0,
  host: '127.0.0.1',
  seed: 1,
  size: 200,
  now: null,
  auth: 'none',
  token: '',
  paging: 'page',
  pageBase: 1,
  pageParam: 'page',
  sizeParam: 'perPage',
  defaultPageSize: 20,
  maxPageSize: 100,
  beforeFirst: 'refuse',
  envelope: 'bare',
  envelopeEverywhere: false,
  totals: true,
  totalHeader: null,
  pageReferences: false,
  summary: false,
  touch: true,
  onlyStatusChanges: false,
  uniqueEmails: true,
  latencyMs: 0,
  jitterMs: 0,
  rateLimit: 0,
  retryAfter: 'seconds',
  faults: [],
}
