// Servers that page as JSON:API and OData do, each list with so many records of ids from 1; at /v3/…, by real HTTP.

import { type HttpServer, json, startServer } from '../api/http-server.ts'

export const recordsOf = (count: number) => Array.from({ length: count }, (_, index) => ({ id: index + 1 }))

type Paged = { readonly count: number; readonly refusesUnknown?: boolean }

/** Pages of at most 20, of 10 unasked; `fixed`: only the number of a page is honoured. */
export const openJsonApi = ({ count, refusesUnknown, fixed }: Paged & { fixed?: boolean }): Promise<HttpServer> =>
  startServer((response, { url }) => {
    const { pathname, searchParams: query } = new URL(url, 'http://x')
    if (refusesUnknown && [...query.keys()].some((name) => !/^page\[(number|size)\]$/.test(name)))
      return json(response, { errors: [{ title: 'Invalid Query Parameter' }] }, 400)
    const [number, size] = [
      Number(query.get('page[number]') ?? 1),
      fixed ? 10 : Math.min(20, Number(query.get('page[size]') ?? 10)),
    ]
    const data = recordsOf(count).slice((number - 1) * size, number * size)
    const link = `${pathname}?page%5Bnumber%5D=${number + 1}&page%5Bsize%5D=${size}`
    const next = number * size < count ? link : null
    return json(response, { data, links: { next }, meta: fixed ? {} : { total: count } })
  })

/** Pages of at most 10, with the link and the count that OData names; refuses what is no option of its own. */
export const openOData = ({ count, refusesUnknown }: Paged): Promise<HttpServer> =>
  startServer((response, { url }) => {
    const { pathname, searchParams: query } = new URL(url, 'http://x')
    if (refusesUnknown && [...query.keys()].some((name) => !/^\$(top|skip)$/.test(name)))
      return json(response, { error: { code: 'BadRequest', message: 'The query parameter is not supported.' } }, 400)
    const skip = Number(query.get('$skip') ?? 0)
    const wanted = Number(query.get('$top') ?? count)
    const value = recordsOf(count).slice(skip, skip + Math.min(10, wanted))
    const [after, left] = [skip + value.length, wanted - value.length]
    const top = query.has('$top') ? `&$top=${left}` : ''
    const next = left > 0 && after < count ? { '@odata.nextLink': `${pathname}?$skip=${after}${top}` } : {}
    return json(response, { '@odata.context': '$metadata#x', '@odata.count': count, value, ...next })
  })
