// A model of the feed where the ground moves: servers whose commits end out of order, that crash and lose the last of them,
// that are copied, followed and promoted, and one reader who goes from one to the other with its own cursor. Pure and seeded.
// `standing` is the rule of mirror.positions_after; feed-model.test.ts compares both.

import { createRandom } from '../../sandbox/world/random.ts'

/** A change; `id` distinguishes it from all others, whatever numbers it has. */
export type Entry = {
  readonly id: number
  readonly epoch: number
  readonly xid: number
  readonly seq: number
  readonly key: number
}

/** `xid` 0: of a former epoch. `mark`: the id of the entry that it names; null: a cursor without one. */
export type Cursor = {
  readonly epoch: number
  readonly xid: number
  readonly seq: number
  readonly mark: number | null
}

/** What a caller finds: the entries of its snapshot, and the next transaction id, which it finds fresh. */
export type View = {
  readonly epoch: number
  readonly isStandby: boolean
  readonly xmin: number
  readonly nextXid: number
  readonly entries: readonly Entry[]
}

/** What a server does with a cursor. */
export function standing(view: View, { epoch, xid, seq, mark }: Cursor): 'continue' | 'repeat' | 'wait' {
  if (epoch !== view.epoch) return 'repeat'
  const isThere = (entry: Entry): boolean =>
    entry.seq === seq && (xid === 0 ? entry.epoch !== epoch : entry.epoch === epoch && entry.xid === xid)
  const found = view.entries.find(isThere)
  if (found !== undefined) return mark === null || mark === found.id ? 'continue' : 'repeat'
  return xid >= view.xmin && (view.isStandby || xid < view.nextXid) ? 'wait' : 'repeat'
}

/** All that the feed gives in a view, in its order, each with its cursor. */
const feedOf = ({ epoch, xmin, entries }: View): readonly (readonly [Entry, Cursor])[] =>
  entries
    .filter((entry) => entry.epoch !== epoch || entry.xid < xmin)
    .map(
      (entry) =>
        [entry, { epoch, xid: entry.epoch === epoch ? entry.xid : 0, seq: entry.seq, mark: entry.id }] as const,
    )
    .sort(([, a], [, b]) => a.xid - b.xid || a.seq - b.seq)

/** The next entries after a cursor. */
export function read(view: View, cursor: Cursor | null, limit: number): readonly (readonly [Entry, Cursor])[] {
  const place = cursor === null ? 'repeat' : standing(view, cursor)
  if (place === 'wait') return []
  const isAhead = (at: Cursor): boolean =>
    cursor === null || place === 'repeat' || at.xid > cursor.xid || (at.xid === cursor.xid && at.seq > cursor.seq)
  return feedOf(view)
    .filter(([, at]) => isAhead(at))
    .slice(0, limit)
}

/** What a server writes to its log, in order: what is lost or not copied yet is the end of it. */
type Record =
  | { readonly kind: 'begin' | 'abort'; readonly xid: number }
  | { readonly kind: 'commit'; readonly xid: number; readonly entries: readonly Entry[] }
  | { readonly kind: 'prune'; readonly ids: ReadonlySet<number> }

type Server = {
  wal: Record[]
  /** So much of it survives a crash. */
  flushed: number
  epoch: number
  nextSeq: number
  source: Server | null
  /** What running transactions have written. */
  running: Map<number, Entry[]>
  snapshot: Pick<View, 'xmin' | 'entries'> | null
}

const nextXidOf = ({ wal }: Server): number =>
  1 + wal.reduce((most, record) => (record.kind === 'begin' ? Math.max(most, record.xid) : most), 99)

function snapshotOf(server: Server): Pick<View, 'xmin' | 'entries'> {
  const open = new Set<number>()
  let entries: readonly Entry[] = []
  for (const record of server.wal) {
    if (record.kind === 'begin') open.add(record.xid)
    else if (record.kind === 'prune') entries = entries.filter(({ id }) => !record.ids.has(id))
    else open.delete(record.xid)
    if (record.kind === 'commit') entries = [...entries, ...record.entries]
  }
  return { xmin: Math.min(...open, nextXidOf(server)), entries }
}

function viewOf(server: Server, snapshot: Pick<View, 'xmin' | 'entries'>): View {
  const isStandby = server.source !== null
  const newest = [...snapshot.entries].sort((a, b) => b.seq - a.seq)[0]
  const epoch = isStandby ? (newest?.epoch ?? server.epoch) : server.epoch
  return { ...snapshot, epoch, isStandby, nextXid: nextXidOf(server) }
}

/** A read that the reader made. */
export type Situation = {
  readonly view: View
  readonly cursor: Cursor | null
  readonly limit: number
  readonly given: readonly (readonly [Entry, Cursor])[]
}

type Run = {
  readonly situations: readonly Situation[]
  /** What happened, for who looks into a violation. */
  readonly story: readonly string[]
  /** Null: nothing was skipped, and nobody waits for ever. */
  readonly violation: string | null
}

/** One run: so many steps, and then everything is read to the end. `marks`: false is the fault that must be found. */
export function runFeed(seed: number, { steps = 80, marks = true } = {}): Run {
  const next = createRandom(seed, 'feed').next
  const below = (count: number): number => Math.floor(next() * count)
  const pick = <T>(from: readonly T[]): T | undefined => from[below(from.length)]
  const between = (least: number, most: number): number => least + below(most - least + 1)

  let ids = 0
  let epochs = 1
  const story: string[] = []
  const situations: Situation[] = []
  const received = new Set<number>()
  let cursor: Cursor | null = null
  let violation: string | null = null
  const made = (from: Partial<Server>): Server => ({
    ...{ wal: [], flushed: 0, epoch: 1, nextSeq: 1, source: null, running: new Map(), snapshot: null },
    ...from,
  })
  const servers: Server[] = [made({})]
  const say = (server: Server, text: string): void => void story.push(`server ${servers.indexOf(server)} ${text}`)

  /** A server that starts with this much of a log: what ran is undone, and numbers of the sequence may come again. */
  const recovered = (server: Server, length: number): void => {
    server.wal = server.wal.slice(0, length)
    const isOpen = ({ xid }: { readonly xid: number }): boolean =>
      !server.wal.some((record) => record.kind !== 'begin' && record.kind !== 'prune' && record.xid === xid)
    const open = server.wal.flatMap((record) => (record.kind === 'begin' && isOpen(record) ? [record.xid] : []))
    server.wal.push(...open.map((xid) => ({ kind: 'abort' as const, xid })))
    server.flushed = server.wal.length
    const used = server.wal.flatMap((record) => (record.kind === 'commit' ? record.entries.map(({ seq }) => seq) : [0]))
    server.nextSeq = Math.max(0, ...used) + between(1, 3)
    server.running = new Map()
    server.snapshot = null
  }

  const write = (server: Server): void => {
    const xid = server.running.size < 3 && next() < 0.6 ? nextXidOf(server) : pick([...server.running.keys()])
    if (xid === undefined) return
    if (!server.running.has(xid)) server.wal.push({ kind: 'begin', xid })
    const own = server.running.get(xid) ?? []
    for (let count = between(0, 2); count > 0; count--)
      own.push({ id: ++ids, epoch: server.epoch, xid, seq: server.nextSeq++, key: below(3) })
    server.running.set(xid, own)
    say(server, `writes in ${xid}`)
  }
  const end = (server: Server): void => {
    const xid = pick([...server.running.keys()])
    if (xid === undefined) return
    const own = server.running.get(xid) ?? []
    server.running.delete(xid)
    if (next() < 0.15) server.wal.push({ kind: 'abort', xid })
    else {
      // feed-order.ts: behind what others wrote of the same record meanwhile.
      const { entries } = snapshotOf(server)
      const moved = own.map((entry) => ({
        ...entry,
        xid: Math.max(xid, ...entries.filter((e) => e.epoch === entry.epoch && e.key === entry.key).map((e) => e.xid)),
      }))
      server.wal.push({ kind: 'commit', xid, entries: moved })
    }
    if (next() < 0.6) server.flushed = server.wal.length
    say(server, `ends ${xid}`)
  }
  const crash = (server: Server): void => {
    recovered(server, between(server.flushed, server.wal.length))
    say(server, `crashes, and has ${server.wal.length} records`)
  }
  /** Half of the copies are of a server that was stopped, and nothing shows what they are; the others know it. */
  const copy = (server: Server): void => {
    if (servers.length === 5) return
    const isStopped = next() < 0.5
    if (isStopped) recovered(server, server.wal.length)
    const other = made({ ...server, epoch: isStopped ? server.epoch : ++epochs })
    servers.push(other)
    recovered(other, between(server.flushed, server.wal.length))
    say(other, `is a copy of ${servers.indexOf(server)}${isStopped ? '' : ' that knows it'}`)
  }
  /** A standby shows the former history until its primary has logged something in the new one. */
  const follow = (server: Server): void => {
    const wal = server.wal.slice(0, server.flushed)
    const isKnown = server.epoch === 1 || wal.some((r) => r.kind === 'commit' && r.entries[0]?.epoch === server.epoch)
    if (servers.length === 5 || !isKnown) return
    servers.push(made({ wal, epoch: server.epoch, source: server }))
    say(servers[servers.length - 1] ?? server, `follows ${servers.indexOf(server)}`)
  }
  const prune = (server: Server): void => {
    const { entries } = snapshotOf(server)
    // By time, which is nearly the order of the numbers.
    const old = [...entries].sort((a, b) => a.seq - b.seq).slice(0, below(entries.length + 1))
    const gone = old.filter((_, index) => index < old.length - 1 || next() < 0.5).map(({ id }) => id)
    server.wal.push({ kind: 'prune', ids: new Set(gone) })
    for (const id of gone) received.add(id) // too late for a reader that is behind
    say(server, `prunes ${old.length}`)
  }
  const standby = (server: Server): void => {
    const { source } = server
    if (source === null) return
    if (next() < 0.8)
      server.wal = source.wal.slice(0, between(server.wal.length, Math.max(server.wal.length, source.flushed)))
    else {
      const { snapshot } = server
      Object.assign(server, { source: null, epoch: ++epochs })
      recovered(server, server.wal.length)
      server.snapshot = snapshot // a session outlives the promotion
    }
    say(server, server.source === null ? 'is promoted' : `has ${server.wal.length} records`)
  }
  const ask = (server: Server, { isStale, limit }: { readonly isStale: boolean; readonly limit: number }): number => {
    const view = viewOf(server, (isStale ? server.snapshot : null) ?? snapshotOf(server))
    const from: Cursor | null = cursor === null || marks ? cursor : { ...cursor, mark: null }
    const given = read(view, from, limit)
    situations.push({ view, cursor: from, limit, given })
    for (const [{ id }] of given) received.add(id)
    cursor = given.at(-1)?.[1] ?? cursor
    say(
      server,
      `gives ${given.length} of ${limit} after ${JSON.stringify(from)}${isStale ? ' to an old snapshot' : ''}`,
    )
    const isWaiting = from !== null && standing(view, from) === 'wait'
    if (given.length === limit || isWaiting) return given.length
    const skipped = feedOf(view).filter(([{ id }]) => !received.has(id))
    if (skipped.length > 0) violation ??= `skipped ${JSON.stringify(skipped.map(([entry]) => entry))}`
    return given.length
  }

  const actions: readonly (readonly [number, (server: Server) => void])[] = [
    [8, (server) => server.source === null && write(server)],
    [7, (server) => server.source === null && end(server)],
    [1, (server) => server.source === null && crash(server)],
    [1, (server) => server.source === null && copy(server)],
    [1, (server) => server.source === null && follow(server)],
    [1, (server) => server.source === null && prune(server)],
    [3, standby],
    [2, (server) => void Object.assign(server, { snapshot: snapshotOf(server) })],
    [8, (server) => void ask(server, { isStale: next() < 0.2, limit: between(1, 4) })],
  ]
  const drawn = actions.flatMap(([weight, action]) => Array.from({ length: weight }, () => action))
  for (let step = 0; step < steps && violation === null; step++) pick(drawn)?.(pick(servers) ?? made({}))

  // When all is quiet, each server gives all it has.
  for (const server of servers) {
    if (server.source === null) recovered(server, server.wal.length)
    for (let turn = 0; violation === null && ask(server, { isStale: false, limit: 4 }) > 0; turn++)
      if (turn > 1_000) violation = 'goes round in circles'
    const last: Cursor | null = cursor
    if (server.source === null && last !== null && standing(viewOf(server, snapshotOf(server)), last) === 'wait')
      violation ??= 'waits for ever'
  }
  return { situations, story, violation }
}
