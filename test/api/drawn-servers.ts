// Servers of a list, drawn at random: how they cut pages, what they do past the end, what they say of it, and in which ways
// they are wrong. For properties that must hold for all of them.

import fc from 'fast-check'
import type { Json } from '../../src/api/wire/json.ts'
import type { PagingStyle } from '../../src/config.ts'
import { type ApiError, BoatMirrorError } from '../../src/errors.ts'
import { judgePass } from '../../src/sync/lists/progress.ts'
import { callOf, type Reply, read, records, type Server } from './page-servers.ts'

type Past = 'empty' | 'last' | 'first' | 'circle' | 'refuse' | 'no content'

export type World = {
  /** Records when it is first asked. */
  readonly count: number
  /** How the server itself counts; `cursor`: opaque tokens. */
  readonly counts: 'page' | 'offset' | 'cursor'
  readonly base: 0 | 1
  /** The parameter that the client sends is not the server's. */
  readonly ignores: { readonly position: boolean; readonly size: boolean }
  /** Most records of a page, and those of a page whose size is not asked for. */
  readonly most: number
  readonly usual: number
  readonly past: Past
  /** No page after so many is answered, but what comes past the end. */
  readonly depth: number | null
  readonly total: 'none' | 'right' | 'larger' | 'smaller' | 'of the page'
  readonly totalAt: 'total' | 'meta.total' | '@odata.count' | 'header' | 'range'
  readonly next: 'none' | 'silent end' | 'null end' | 'zero end' | 'always'
  readonly nextAs: 'link' | 'token'
  readonly nextAt: 'next' | 'links.next' | '@odata.nextLink' | 'paging.next.after' | 'odd.onward.next_page' | 'header'
  readonly flag: 'none' | 'has_more' | 'last'
  readonly pages: boolean
  /** 206, without a total. */
  readonly part: boolean
  /** Records that are missing after pages were cut: every n-th. */
  readonly hides: number | null
  /** With each of so many requests the first record goes. */
  readonly shrinks: number
}

export type Client = { readonly style: PagingStyle; readonly pageSize: number }

const small = fc.integer({ min: 1, max: 12 })
const rarely = <T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })

export const worlds: fc.Arbitrary<World> = fc.record({
  count: fc.integer({ min: 0, max: 60 }),
  counts: fc.constantFrom('page', 'offset', 'cursor'),
  base: fc.constantFrom(0, 1),
  ignores: rarely({ position: false, size: false }, fc.record({ position: fc.boolean(), size: fc.boolean() })),
  most: small,
  usual: small,
  past: fc.constantFrom('empty', 'last', 'first', 'circle', 'refuse', 'no content'),
  depth: rarely<number | null>(null, fc.integer({ min: 1, max: 5 })),
  total: fc.constantFrom('none', 'none', 'right', 'right', 'larger', 'smaller', 'of the page'),
  totalAt: fc.constantFrom('total', 'meta.total', '@odata.count', 'header', 'range'),
  next: fc.constantFrom('none', 'none', 'silent end', 'null end', 'zero end', 'always'),
  nextAs: fc.constantFrom('link', 'token'),
  nextAt: fc.constantFrom(
    'next',
    'links.next',
    '@odata.nextLink',
    'paging.next.after',
    'odd.onward.next_page',
    'header',
  ),
  flag: fc.constantFrom('none', 'none', 'has_more', 'last'),
  pages: rarely(false, fc.constant(true)),
  part: rarely(false, fc.constant(true)),
  hides: rarely<number | null>(null, fc.integer({ min: 2, max: 4 })),
  shrinks: rarely(0, fc.integer({ min: 1, max: 3 })),
})

export const clients = (world: World): fc.Arbitrary<Client> => {
  const own: PagingStyle = world.next !== 'none' && world.nextAs === 'link' ? 'link' : world.counts
  return fc.record({
    style: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom<PagingStyle>(own, world.counts) },
      { weight: 1, arbitrary: fc.constantFrom<PagingStyle>('page', 'offset', 'cursor', 'link', 'none') },
    ),
    pageSize: small,
  })
}

const put = (body: Record<string, Json>, path: string, value: Json): void => {
  if (path.startsWith('@')) body[path] = value
  else {
    const names = path.split('.')
    const last = names.pop() ?? ''
    const inner = names.reduce<Record<string, Json>>((at, name) => {
      at[name] ??= {}
      return at[name] as Record<string, Json>
    }, body)
    inner[last] = value
  }
}

/** The server, and the ids that are there from its first answer to its last. */
export function serverOf(world: World): { readonly server: Server; readonly lasting: () => readonly number[] } {
  let asked = 0
  let gone = 0
  const server: Server = (query) => {
    asked += 1
    if (asked > 1 && gone < Math.min(world.shrinks, world.count)) gone += 1
    const all = records(world.count - gone, gone)
    return answerOf(world, all, {
      size: Math.min(
        world.ignores.size || query.perPage === undefined ? world.usual : Number(query.perPage),
        world.most,
      ),
      position: world.ignores.position ? undefined : query.page,
      linked: query.at,
    })
  }
  const lasting = (): readonly number[] =>
    records(world.count - gone, gone).flatMap((record) => (isHidden(world, record) ? [] : idOf(record)))
  return { server, lasting }
}

type Ask = { readonly size: number; readonly position: string | undefined; readonly linked: string | undefined }

/** Where a page starts; null: the token says nothing. */
function startOf({ counts, base }: World, { size, position, linked }: Ask): number | null {
  if (linked !== undefined) return Number(linked)
  if (position === undefined) return 0
  if (counts === 'cursor') return /^c\d+$/.test(position) ? Number(position.slice(1)) : position === '0' ? 0 : null
  return counts === 'page' ? (Number(position) - base) * size : Number(position) - base
}

const idOf = (record: Json): number => (record as { id: number }).id
const isHidden = ({ hides }: World, record: Json): boolean => hides !== null && idOf(record) % hides === 0

function answerOf(world: World, all: readonly Json[], ask: Ask): Reply {
  const { size } = ask
  const end = world.depth === null ? all.length : Math.min(all.length, world.depth * size)
  const asked = startOf(world, ask)
  let start = asked ?? 0
  const isPast = start >= end && start > 0
  if (isPast && world.past === 'refuse') return { status: 404, body: undefined }
  if (isPast && world.past === 'no content') return { status: 204, body: undefined }
  if (isPast && world.past === 'first') start = 0
  if (isPast && world.past === 'last') start = Math.max(0, (Math.ceil(end / size) - 1) * size)
  if (isPast && world.past === 'circle') start = end === 0 ? 0 : start % end
  const cut = all.slice(start, Math.min(start + size, end))
  if (world.past === 'circle' && cut.length < size && start > 0)
    cut.push(...all.slice(0, Math.min(size - cut.length, start)))
  const items = cut.filter((record) => !isHidden(world, record))
  return wrapped(world, all, { items, start, size })
}

function wrapped(
  world: World,
  all: readonly Json[],
  { items, start, size }: { readonly items: Json[]; readonly start: number; readonly size: number },
): Reply {
  const visible = all.filter((record) => !isHidden(world, record)).length
  const body: Record<string, Json> = { data: items }
  const headers: Record<string, string> = {}
  const goesOn = start + size < all.length
  const total = {
    ...{ none: null, right: visible, larger: visible + 3, smaller: Math.max(0, visible - 3) },
    'of the page': items.length,
  }[world.total]
  if (total !== null && world.totalAt === 'header') headers['x-total-count'] = String(total)
  else if (total !== null && world.totalAt === 'range')
    headers['content-range'] = `items ${start}-${start + size - 1}/${total}`
  else if (total !== null) put(body, world.totalAt, total)
  const token =
    world.counts === 'page'
      ? String((start + size) / size + world.base)
      : world.counts === 'offset'
        ? String(start + size + world.base)
        : `c${start + size}`
  // A link leads on whatever the parameters of the client are.
  const place = world.nextAs === 'link' ? `https://api.example/v3/users?at=${start + size}&perPage=${size}` : token
  const named =
    goesOn || world.next === 'always'
      ? place
      : world.next === 'zero end'
        ? 0
        : world.next === 'null end'
          ? null
          : undefined
  if (world.next !== 'none' && named !== undefined)
    if (world.nextAt !== 'header') put(body, world.nextAt, named)
    else if (world.nextAs === 'link' && typeof named === 'string') headers.link = `<${named}>; rel="next"`
    else headers['x-next-page'] = named === null ? '' : String(named)
  if (world.flag === 'has_more') body.has_more = goesOn
  if (world.flag === 'last') body.last = !goesOn
  if (world.pages) body.total_pages = Math.ceil(all.length / size)
  return { body, headers, status: world.part && goesOn ? 206 : 200 }
}

/** Whether an answer on the way shows that there is more, where there is. */
const saysWhatIsMissing = (world: World): boolean =>
  world.total === 'right' || world.next !== 'none' || world.flag !== 'none' || world.pages || world.part

/**
 * Servers that hide records and say nothing that shows it, in no answer to any question: nobody can see that something is
 * missing. Each is a way of its own.
 */
export function hidesInSilence(world: World, client: Client): boolean {
  const { total, depth, past, counts, shrinks, hides, ignores, pages } = world
  const isShort = depth !== null || ignores.position || hides !== null || client.style !== counts
  // It names as its total what it shows, and no more.
  const namesNone = world.next === 'none' && !['page', 'offset'].includes(client.style)
  if ((isShort || namesNone) && (total === 'smaller' || total === 'of the page')) return true
  // The list moves under a reader who only sees numbers.
  if (shrinks > 0 && total !== 'right') return true
  if (hides !== null && !saysWhatIsMissing(world)) return true
  // Where it has said that records follow, an empty page says that none do.
  const isEmptyPast = !['first', 'last', 'circle'].includes(past) || hides !== null
  if (depth !== null && isEmptyPast && total !== 'right' && !pages) return true
  // It acts in all as if the list had no further record.
  if (depth !== null && counts !== 'page' && !saysWhatIsMissing(world)) return true
  // A client that steps by records although pages are numbered skips pages: a wrong setting, which `check` finds.
  if (client.style === 'offset' && counts === 'page' && total !== 'right') return true
  // Lists without pages are asked for once; a single record cannot be asked for in fewer.
  if (saysWhatIsMissing(world)) return false
  const led = client.style === 'cursor' || client.style === 'link'
  return client.style === 'none' || (led && Math.min(world.most, client.pageSize, world.usual) === 1)
}

export type Outcome = {
  readonly status: 'done' | 'partial' | 'failed'
  readonly reason: string
  readonly seen: ReadonlySet<number>
  readonly requests: number
}

const paging: ReadonlySet<string> = new Set(['PAGING_UNPROVEN', 'PAGING_ENDLESS'])

/** A list as a sweep reads it: three passes at most, each of them judged. @throws what is no error of ours */
export async function sweepOf(server: Server, { style, pageSize }: Client, base: 0 | 1): Promise<Outcome> {
  let requests = 0
  const counted: Server = (query) => {
    requests += 1
    return server(query)
  }
  const call = callOf(style, { pageSize, pageBase: base })
  for (let pass = 1; ; pass++) {
    const keys: number[] = []
    const totals: number[] = []
    let unproven: string | null = null
    try {
      await read(counted, call, ({ items, total }) => {
        for (const item of items.values()) keys.push(idOf(item))
        if (total !== null) totals.push(total)
      })
    } catch (error) {
      if (!(error instanceof BoatMirrorError)) throw error
      const { code, message } = error as ApiError
      if (!paging.has(code)) return { status: 'failed', reason: message, seen: new Set(keys), requests }
      unproven = message
    }
    const seen = new Set(keys)
    const facts = { answered: keys.length, distinct: seen.size, keyless: 0, keylessDistinct: 0 }
    const verdict = judgePass({ pass, ...facts, totals, unproven })
    if (verdict.kind === 'again') continue
    const reason = verdict.kind === 'complete' ? '' : verdict.reason
    return { status: verdict.kind === 'complete' ? 'done' : 'partial', reason, seen, requests }
  }
}
