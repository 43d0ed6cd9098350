// DATA_DIR/sandbox-journal.jsonl: every write the built-in sandbox took, so that the next one finds its world as it was
// left. The same world, seeded and dated, takes the same writes at the same instants and comes out the same.

import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { LoggedRequest, Sandbox, Send } from '../../../sandbox/index.ts'
import { unlessMissing } from '../../embedded/failures.ts'
import type { Logger } from '../../log.ts'

type Entry = Pick<LoggedRequest, 'time' | 'method' | 'path' | 'body'>

const fileOf = (dataDir: string): string => join(dataDir, 'sandbox-journal.jsonl')

const isWrite = (request: LoggedRequest): boolean => request.method !== 'GET'

/** Faults that lose or spoil the answer of a write that took effect. A refused one is refused again, which harms nothing. */
const afterEffect: ReadonlySet<string> = new Set([
  'cut',
  'truncate',
  'dropAfterEffect',
  'errorAfterEffect',
  'hangAfterEffect',
])

/** Whether it changed the world, even if its answer got lost. */
const tookEffect = ({ status, fault }: LoggedRequest): boolean =>
  (status !== null && status < 300) || afterEffect.has(fault ?? '')

const isDecided = (request: LoggedRequest): boolean => request.status !== null || request.fault !== null

/**
 * The writes after `last` that took effect, and where to continue; it stops before a write that is still running, so
 * that the order of effects is kept. Pure.
 */
export function newEntries(
  requests: readonly LoggedRequest[],
  last: LoggedRequest | null,
): { readonly entries: readonly Entry[]; readonly last: LoggedRequest | null } {
  const fresh = requests.slice(last === null ? 0 : requests.lastIndexOf(last) + 1)
  const undecided = fresh.findIndex((request) => isWrite(request) && !isDecided(request))
  const decided = undecided === -1 ? fresh : fresh.slice(0, undecided)
  const entries = decided
    .filter((request) => isWrite(request) && tookEffect(request))
    .map(({ time, method, path, body }) => ({ time, method, path, body }))
  return { entries, last: decided.at(-1) ?? last }
}

/** Replays the writes of the journal in a sandbox that cannot be called yet. Returns how many. */
export async function replayJournal(
  dataDir: string,
  { clock, send }: { readonly clock: Sandbox['clock']; readonly send: Send },
  log: Logger,
): Promise<number> {
  const text = await unlessMissing(readFile(fileOf(dataDir), 'utf8'))
  if (text === null) return 0
  let replayed = 0
  for await (const line of createInterface({ input: Readable.from(text) })) {
    const entry = parseEntry(line)
    if (entry === null) continue
    clock.set(new Date(entry.time))
    const status = await send({ ...entry, body: typeof entry.body === 'string' ? entry.body : null })
    if (status >= 300)
      log.warn(
        { event: 'sandbox_replay_refused', method: entry.method, status },
        'the built-in sandbox could not repeat a write of an earlier run',
      )
    replayed += 1
  }
  return replayed
}

/** A line of the journal; null for the last line of a process that was killed while writing it. */
function parseEntry(line: string): Entry | null {
  try {
    return JSON.parse(line) as Entry
  } catch {
    return null
  }
}

const flushMs = 500

/** Keeps the journal of a running sandbox; `stop` writes what is left. */
export function keepJournal(dataDir: string, sandbox: Sandbox, log: Logger): { stop(): Promise<void> } {
  let last: LoggedRequest | null = null
  let writing: Promise<void> = Promise.resolve()
  const flush = (): Promise<void> => {
    writing = writing.then(async () => {
      const found = newEntries(sandbox.requests(), last)
      if (found.entries.length > 0)
        await appendFile(fileOf(dataDir), found.entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), {
          mode: 0o600,
        })
      last = found.last
    })
    return writing
  }
  const onError = (error: unknown): void =>
    log.warn({ event: 'sandbox_journal_failed', err: error }, 'writes of the built-in sandbox cannot be stored')
  const timer = setInterval(() => {
    flush().catch((error: unknown) => {
      writing = Promise.resolve()
      onError(error)
    })
  }, flushMs)
  timer.unref()
  return {
    stop: async () => {
      clearInterval(timer)
      await flush().catch(onError)
    },
  }
}
