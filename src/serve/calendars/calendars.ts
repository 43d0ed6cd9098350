// `GET /calendars/RESOURCE_ID.ics?key=…`: when a boat is taken, for marketplaces that accept only iCalendar. The key
// opens one calendar; it is part of the address, so nothing here logs an address.

import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { dateIn } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { requestLimit } from '../access/limit.ts'
import { opensCalendar } from '../access/secrets.ts'
import type { ServeContext } from '../context.ts'
import { problem, send as sendAnswer } from '../problem.ts'
import { namesTag } from '../writes/tags.ts'
import { busyTimes, knownUntil } from './busy-times.ts'
import { calendarText } from './calendar-text.ts'
import { type Boat, readBoat } from './read-boat.ts'

export type CalendarContext = Pick<ServeContext, 'wrongTokens'> & {
  readonly sync: Pick<ServeContext['sync'], 'database' | 'clock'>
  readonly settings: Pick<ServeContext['settings'], 'timeZone' | 'calendarYears' | 'serveRateLimit'>
}

type CalendarRequest = {
  readonly Params: { readonly file: string }
  readonly Querystring: Readonly<Record<string, string | readonly string[] | undefined>>
}

const suffix = '.ics'

/** An answer without a calendar, as problem+json (RFC 9457). */
const refuse = (reply: FastifyReply, status: number, detail: string): FastifyReply =>
  sendAnswer(reply, problem(status, detail))

/** Puts calendars on a server. They ask for no token: the key in the address is what opens one. */
export function registerCalendars(app: FastifyInstance, { sync, settings, wrongTokens }: CalendarContext): void {
  const { database } = sync
  const limit = requestLimit(settings.serveRateLimit)

  app.get<CalendarRequest>('/calendars/:file', async (request, reply) => {
    const { file } = request.params
    const { key } = request.query
    const resourceId = file.endsWith(suffix) ? file.slice(0, -suffix.length) : null
    const isOpen =
      resourceId !== null && typeof key === 'string' && (await opensCalendar(database.pool, resourceId, key))
    if (!isOpen) {
      const wait = wrongTokens.take(request.ip)
      if (wait > 0) return refuse(reply.header('retry-after', wait), 429, 'Too many wrong keys came from this address.')
      return refuse(reply, 404, 'There is no calendar at this address, or its key is not valid.')
    }
    const wait = limit.take(resourceId)
    if (wait > 0) return refuse(reply.header('retry-after', wait), 429, 'This key has sent too many requests.')
    if (settings.calendarYears === 0)
      return refuse(reply, 501, 'The calendars of the API are not mirrored: CALENDAR_YEARS is 0.')
    const boat = await readAtOnce(database, resourceId)
    if (boat === null) return refuse(reply, 404, 'There is no calendar at this address, or its key is not valid.')
    if (boat.asOf === null || boat.years.length === 0)
      return refuse(reply.header('retry-after', 60), 503, 'The calendar of this boat has not been read yet.')
    const today = dateIn(settings.timeZone, sync.clock.now())
    return send(reply, { boat, today, asOf: boat.asOf, etag: request.headers['if-none-match'] })
  })
}

const readAtOnce = (database: Database, resourceId: string): Promise<Boat | null> =>
  database.transaction((client) => readBoat(client, resourceId), { isolation: 'repeatable read', readOnly: true })

type Answer = {
  readonly boat: Boat
  readonly today: string
  readonly asOf: Date
  /** If-None-Match. */
  readonly etag: string | undefined
}

function send(reply: FastifyReply, { boat, today, asOf, etag }: Answer): FastifyReply {
  const text = calendarText(boat.name, busyTimes(boat, today), knownUntil(boat, today))
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 27)
  reply.headers({
    etag: `"${tag}"`,
    'cache-control': 'private, no-cache',
    'x-as-of': asOf.toISOString(),
    'x-content-type-options': 'nosniff',
  })
  if (namesTag(etag ?? '', tag)) return reply.code(304).send()
  return reply.type('text/calendar; charset=utf-8').send(text)
}
