// The options of a sandbox, with their defaults: everything that is not documented (docs/sources.md, silence) is an
// option here.

import type { FaultRule } from './http/faults.ts'

export const pagingStyles = ['page', 'offset', 'cursor', 'link'] as const

export const envelopes = ['bare', 'data', 'items', 'results', 'hydra', 'nested'] as const
export type Envelope = (typeof envelopes)[number]

export const beforeFirstAnswers = ['refuse', 'first', 'empty'] as const

/** The options with their defaults. */
export const defaultOptions = {
  /** Port to listen on; 0 takes a free one. */
  port: 0,
  host: '127.0.0.1',
  seed: 1,
  /** Number of rentals; everything else is in proportion. */
  size: 200,
  /** More rentals than that are not stored: each is made from the seed and its number on demand. */
  heldAtMost: 100_000,
  /** Where the sandbox clock stands still; null: it runs with the host's. */
  now: null as Date | null,
  /** `none`, `bearer`, `basic` (the token is `user:password`), `header:NAME`, `query:NAME`. */
  auth: 'none',
  token: '',
  paging: 'page' as (typeof pagingStyles)[number],
  /** Number of the first page. */
  pageBase: 1 as 0 | 1,
  pageParam: 'page',
  sizeParam: 'perPage',
  /** Page size when the request has none. */
  defaultPageSize: 20,
  /** Largest page size; more is lowered to it without a word. */
  maxPageSize: 100,
  /** What page 0 answers where pages begin with 1. */
  beforeFirst: 'refuse' as (typeof beforeFirstAnswers)[number],
  envelope: 'bare' as Envelope,
  /** Wraps the lists below a record, too. */
  envelopeEverywhere: false,
  /** Whether envelopes say the total. */
  totals: true,
  /** Name of a header with the total; null: none. */
  totalHeader: null as string | null,
  /** Pages the reference lists, too. */
  pageReferences: false,
  /** Answers carry an entity tag, and a request with that tag gets 304. */
  entityTags: false,
  /** List items are a summary of the records. */
  summary: false,
  /** A change below a record moves its `lastModificationDatetime`. */
  touch: true,
  onlyStatusChanges: false,
  uniqueEmails: true,
  /** Milliseconds before each answer. */
  latencyMs: 0,
  /** Up to so many further milliseconds, seeded. */
  jitterMs: 0,
  /** Requests per second; 0: no limit. */
  rateLimit: 0,
  retryAfter: 'seconds' as 'seconds' | 'date',
  faults: [] as readonly FaultRule[],
}

export type SandboxOptions = Readonly<typeof defaultOptions>
