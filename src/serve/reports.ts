// `GET /reports/NAME.csv`: a report as CSV. Spreadsheets send no headers, so a key in the address may stand for a token: it opens
// one report of one company. Nothing here logs an address.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { csvLines } from '../inspect/report-csv.ts'
import { readReport } from '../inspect/report-queries.ts'
import type { ReportView } from '../reports/pieces.ts'
import { companyReports, streamsOfReport } from '../reports/report-views.ts'
import { requestLimit } from './access/limit.ts'
import { companyOfKey, tokenParts } from './access/secrets.ts'
import type { ServeContext } from './context.ts'
import { problem, Refusal } from './problem.ts'
import { bodyTag } from './rights.ts'
import type { Caller } from './types.ts'
import { namesTag } from './writes/tags.ts'

/** Until then an answer is complete, or refused with 503. */
const timeoutMs = 15_000

const closed = 'There is no report at this address, or its key is not valid.'

type Reader = Pick<Caller, 'role' | 'tagKey'> & { readonly company?: string }

/** Puts the reports whose rows are of companies on a server. */
export function registerReports(app: FastifyInstance, context: ServeContext): void {
  const { database } = context.sync
  const limit = requestLimit(context.settings.serveRateLimit)

  const tooMany = (detail: string, seconds: number): Refusal =>
    new Refusal(problem(429, detail, {}, { 'retry-after': String(seconds) }))

  /** By the key in the address. @throws Refusal */
  const ofKey = async (report: string, key: unknown, ip: string): Promise<Reader> => {
    const company = typeof key === 'string' ? await companyOfKey(database.pool, report, key) : null
    if (company === null) {
      const wait = context.wrongTokens.take(ip)
      throw wait > 0 ? tooMany('Too many wrong keys came from this address.', wait) : new Refusal(problem(404, closed))
    }
    const wait = limit.take(`${report} ${company}`)
    if (wait > 0) throw tooMany('This key has sent too many requests.', wait)
    return { company, role: null, tagKey: '' }
  }

  const readerOf = (report: string, key: unknown, request: FastifyRequest): Promise<Reader> =>
    // The API's own secret may be in this parameter, and then a token is.
    key === undefined || (typeof key === 'string' && tokenParts(key) !== null)
      ? context.callerOf(request)
      : ofKey(report, key, request.ip)

  const textOf = async ({ name, orderBy, columns }: ReportView, { role, company }: Reader): Promise<string> => {
    const names = Object.keys(columns)
    const lines = [`${names.join(',')}\n`]
    const request = { view: name, orderBy, columns: names, limit: null, role, timeoutMs }
    await readReport(database, company === undefined ? request : { ...request, company }, 'text', async (rows) => {
      lines.push(csvLines(names, rows))
    })
    return lines.join('')
  }

  /** The oldest of what the report is made from; null: something was not read yet. */
  const asOf = async (report: ReportView): Promise<Date | null> => {
    const { rows } = await database.pool.query<{ asOf: Date | null }>(
      `select case when count(as_of) = count(*) then min(as_of) end as "asOf" from sync.streams where stream = any($1)`,
      [streamsOfReport(report)],
    )
    return rows[0]?.asOf ?? null
  }

  app.get<{ Params: { file: string }; Querystring: { key?: unknown } }>('/reports/:file', async (request, reply) => {
    const name = request.params.file.replace(/\.csv$/, '')
    const reader = await readerOf(name, request.query.key, request)
    const report = companyReports.find((each) => `${each.name}.csv` === request.params.file)
    if (report === undefined) throw new Refusal(problem(404, closed))
    const since = await asOf(report)
    const text = await textOf(report, reader)
    const tag = bodyTag(reader, text)
    reply.headers({ etag: `"${tag}"`, 'cache-control': 'private, no-cache', vary: 'Authorization' })
    if (since !== null) reply.header('x-as-of', since.toISOString())
    if (namesTag(request.headers['if-none-match'] ?? '', tag)) return reply.code(304).send()
    return reply.type('text/csv; charset=utf-8').send(text)
  })
}
