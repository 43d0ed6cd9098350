// From an address to a whole list: what is found of a server is written as lines, read again, and leads to every record.

import { expect, it } from 'vitest'
import { searchSettings } from '../../src/cli/check-search.ts'
import { settingLines, variablesOf } from '../../src/cli/settings-file.ts'
import { readConfig } from '../../src/config.ts'
import { createAllowance } from '../../src/profile/search/inquiry.ts'
import { collect, openApi } from '../api/http-server.ts'
import { openJsonApi, openOData, recordsOf } from './other-servers.ts'

const count = 47

const servers = [
  {
    name: 'JSON:API',
    open: () => openJsonApi({ count }),
    found: { API_PAGE_PARAM: 'page[number]', API_SIZE_PARAM: 'page[size]', API_PAGE_SIZE: '20' },
  },
  {
    name: 'JSON:API that refuses what it does not know',
    open: () => openJsonApi({ count, refusesUnknown: true }),
    found: { API_PAGE_PARAM: 'page[number]', API_SIZE_PARAM: 'page[size]', API_PAGE_SIZE: '20' },
  },
  {
    name: 'JSON:API whose pages have a size of their own',
    open: () => openJsonApi({ count, fixed: true }),
    found: { API_PAGE_PARAM: 'page[number]' },
  },
  {
    name: 'OData',
    open: () => openOData({ count }),
    found: { API_PAGING: 'offset', API_PAGE_PARAM: '$skip', API_SIZE_PARAM: '$top', API_PAGE_SIZE: '10' },
  },
  {
    name: 'OData that refuses what it does not know',
    open: () => openOData({ count, refusesUnknown: true }),
    found: { API_PAGING: 'offset', API_PAGE_PARAM: '$skip', API_SIZE_PARAM: '$top', API_PAGE_SIZE: '10' },
  },
]

for (const { name, open, found } of servers)
  it(`finds how ${name} is paged, and reads all of it`, async () => {
    await using server = await open()
    const lean = readConfig({ API_BASE_URL: server.url, API_AUTH: 'none' }, '/nonexistent')
    const signal = new AbortController().signal
    const how = { given: new Set<string>(), tryQuery: false, allowance: createAllowance(), signal }
    const { settings, problem } = await searchSettings(lean, how)
    const lines = variablesOf(settingLines(settings).join('\n'))
    expect({ problem, lines }).toMatchObject({ problem: null, lines: found })

    const { paging } = readConfig({ API_BASE_URL: server.url, ...lines }, '/nonexistent').api
    await using client = openApi(server.url, { auth: { kind: 'none' }, token: null })
    const call = { endpoint: 'GET /v3/rentals', paging, pageBase: paging.pageBase ?? 0 }
    const pages = await collect(client.api.list(call))
    const ids = pages.flatMap(({ items }) => items.values().map((item) => (item as { id: number }).id))
    expect(ids).toEqual(recordsOf(count).map(({ id }) => id))
  })
