// A small API of users, rentals and what is booked with them that rewrites what it takes, may show it late, and loses answers.
// It keeps every body as it came, so that a test can count what each of them made. Shares no code with the program.

import { json, type Respond, type Seen, startServer } from '../api/http-server.ts'

type Members = Record<string, unknown>

/** What the API makes of what it takes; absent: it keeps that as it is. */
export type Rewriting = {
  readonly emails?: 'lower case'
  readonly texts?: 'trimmed'
  readonly names?: 'capitals'
  readonly prices?: 'rounded' | 'cut'
  readonly references?: 'cut'
  readonly currency?: 'capitals'
  readonly dateTimes?: 'without offset' | 'short offset'
}

/** What happens to a write, or to its answer. */
export type Loss = 'lost before' | 'lost after' | 'gateway' | 'error after' | 'server error' | 'answer without content'

type Stored = {
  readonly id: number
  /** Where it stands: `users`, `rentals`, `rentals/7/payments`. */
  readonly place: string
  readonly record: Members
  /** The body that made it, as it came; null: others did. */
  readonly madeBy: string | null
  /** The reads of this turn and later ones show it. */
  readonly shownFrom: number
}

export type RewritingApi = AsyncDisposable & {
  readonly url: string
  rewriting: Rewriting
  /** Filters of lists compare with all of the stored text, to the letter. */
  exactFilters: boolean
  /** Refuses a slot or an e-mail that is taken. */
  exclusive: boolean
  /** The status of that refusal. */
  refusal: number
  /** The longest page, whatever is asked for. */
  pageSize: number
  /** How many turns pass until what is made is shown. */
  lag: number
  /** What happens to the next write of this body; called once for each. */
  disturb: (place: string, body: Members) => Loss | null
  /** Time passes: what was made may be shown from now on. */
  nextTurn(): void
  /** Others make a record. */
  insert(place: string, body: Members): number
  /** What was made of a body, all of it. */
  madeOf(place: string, body: string): readonly Stored[]
  /** All that stands at a place. */
  at(place: string): readonly Stored[]
  /** Bodies of the writes that came, oldest first. */
  readonly writes: { readonly place: string; readonly body: string }[]
  /** Forgets everything. */
  clear(): void
}

/** When a slot departs: its id is the instant, behind the boat's name. */
const departureOf = (slotId: unknown): string => String(slotId).split('|')[1] ?? ''

const cents = (value: unknown, how: Rewriting['prices']): unknown => {
  const number = Number(value)
  if (how === undefined || Number.isNaN(number)) return value
  return (how === 'rounded' ? Math.round(number * 100) : Math.trunc(number * 100)) / 100
}

function rewritten(body: Members, rules: Rewriting): Members {
  const rewrite = (name: string, value: unknown): unknown => {
    if (name === 'price') return cents(value, rules.prices)
    if (typeof value !== 'string') return value
    const tidy = rules.texts === 'trimmed' ? value.replace(/\s+/gu, ' ').trim() : value
    if (name === 'email' && rules.emails) return tidy.toLowerCase()
    if (name === 'currency' && rules.currency) return tidy.toUpperCase()
    if (/Name$/.test(name) && rules.names) return tidy.toUpperCase()
    if (/^reference/.test(name) && rules.references) return tidy.slice(0, 20)
    return tidy
  }
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, rewrite(name, value)]))
}

/** An instant as this API writes it. */
function written(instant: string, how: Rewriting['dateTimes']): string {
  const wall = instant.slice(0, 19)
  return how === 'without offset' ? wall : how === 'short offset' ? `${wall}+00` : `${wall}Z`
}

/** A record as it is shown, made of a body. */
function recordOf(place: string, id: number, body: Members, rules: Rewriting): Members {
  const kept = rewritten(body, rules)
  const collection = place.split('/').at(-1)
  if (collection === 'options') return { id, option: { id: body.optionId }, quantity: body.quantity, price: 10 }
  if (collection !== 'rentals') return { id, ...kept }
  const { resourceId: _boat, slotId, addMandatoryOptions: _add, ...shown } = kept
  return {
    id,
    ...shown,
    status: 'PENDING',
    creationDatetime: written(new Date(Date.UTC(2026, 0, 1) + id * 1_000).toISOString(), rules.dateTimes),
    departureDatetime: written(departureOf(slotId), rules.dateTimes),
  }
}

export async function startRewritingApi(): Promise<RewritingApi> {
  let stored: Stored[] = []
  let boats = new Map<number, unknown>()
  let turn = 0
  let nextId = 1_000
  const at = (place: string): Stored[] => stored.filter((each) => each.place === place)

  const make = (place: string, body: Members, madeBy: string | null): Stored => {
    const id = nextId++
    const record = recordOf(place, id, body, api.rewriting)
    const one: Stored = { id, place, record, madeBy, shownFrom: turn + api.lag }
    stored.push(one)
    if (place === 'rentals') boats.set(id, body.resourceId)
    return one
  }

  const isTaken = (place: string, body: Members): boolean => {
    if (!api.exclusive) return false
    if (place === 'users') {
      const { email } = rewritten(body, api.rewriting)
      return at(place).some(({ record }) => record.email === email)
    }
    if (place !== 'rentals') return false
    const departure = written(departureOf(body.slotId), api.rewriting.dateTimes)
    return at(place).some(
      ({ id, record }) => boats.get(id) === body.resourceId && record.departureDatetime === departure,
    )
  }

  const matches = (text: unknown, wanted: string): boolean =>
    api.exactFilters ? text === wanted : String(text).toLowerCase().includes(wanted.toLowerCase())

  function listed(place: string, query: URLSearchParams): readonly Stored[] {
    const [email, name, boat] = [query.get('email'), query.get('name'), query.get('resourceId')]
    const fitting = at(place).filter(
      ({ id, record, shownFrom }) =>
        shownFrom <= turn &&
        (email === null || matches(record.email, email)) &&
        (name === null || matches(record.firstName, name) || matches(record.lastName, name)) &&
        (boat === null || boats.get(id) === boat),
    )
    return query.get('order') === 'creationDateDesc' ? fitting.reverse() : fitting
  }

  /** Whether the rental that a collection lies below is shown. */
  const isShown = (place: string): boolean => {
    const [, rental] = /^rentals\/(\d+)\//.exec(place) ?? []
    return rental === undefined || at('rentals').some(({ id, shownFrom }) => String(id) === rental && shownFrom <= turn)
  }

  const respond: Respond = (response, { method, url, body }: Seen) => {
    const { pathname, searchParams } = new URL(url, 'http://api')
    const place = pathname.replace(/^\/v3\//, '')
    if (method === 'GET') {
      const [, parent = '', id] = /^(.*?)(?:\/(\d+))?$/.exec(place) ?? []
      if (!isShown(parent)) return response.writeHead(404).end()
      if (id === undefined) {
        const first = (Number(searchParams.get('page') ?? 1) - 1) * api.pageSize
        if (first < 0) return response.writeHead(400).end()
        const page = listed(place, searchParams).slice(first, first + api.pageSize)
        const records = page.map(({ record }) => record)
        return json(response, records)
      }
      const one = at(parent).find((each) => String(each.id) === id)
      return one === undefined || one.shownFrom > turn ? response.writeHead(404).end() : json(response, one.record)
    }
    api.writes.push({ place, body })
    const given = JSON.parse(body) as Members
    const loss = api.disturb(place, given)
    if (loss === 'lost before') return response.destroy()
    if (loss === 'server error') return response.writeHead(500).end()
    if (isTaken(place, given)) return json(response, { message: 'taken' }, api.refusal)
    const { record } = make(place, given, body)
    if (loss === 'lost after') return response.destroy()
    if (loss === 'gateway') return response.writeHead(502).end()
    if (loss === 'error after') return response.writeHead(500).end()
    return json(response, loss === 'answer without content' ? {} : record)
  }

  const server = await startServer(respond)
  const api: RewritingApi = {
    url: server.url,
    rewriting: {},
    exactFilters: false,
    exclusive: true,
    refusal: 409,
    pageSize: 1_000,
    lag: 0,
    disturb: () => null,
    nextTurn: () => {
      turn++
    },
    insert: (place, body) => make(place, body, null).id,
    madeOf: (place, body) => at(place).filter(({ madeBy }) => madeBy === body),
    at,
    writes: [],
    clear: () => {
      stored = []
      boats = new Map()
      api.writes.length = 0
      server.seen.length = 0
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
  return api
}
