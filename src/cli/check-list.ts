// `check` of one list of the API, by its first two pages.

import type { Page } from '../api/types.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Database } from '../database/database.ts'
import { BoatMirrorError } from '../errors.ts'
import { counted } from '../format.ts'
import { type PageBase, pageBaseOf, probePageBase } from '../profile/page-base.ts'
import { mayConcernParameters, readProfile } from '../profile/profile.ts'
import { pagingOf } from '../sync/lists/paging.ts'
import type { ProbeApi, ProbeOptions } from '../sync/preflight.ts'
import { type Finding, failed, ok, warn } from './findings.ts'

type ListCall = {
  readonly endpoint: string
  readonly query: Readonly<Record<string, string>>
  readonly paging: ReturnType<typeof pagingOf>
}

/** The finding about a list, and its first pages; null: it could not be read. */
export type CheckedStream = {
  readonly stream: string
  readonly finding: Finding
  readonly seen: { readonly call: ListCall; readonly base: number; readonly pages: readonly Page[] } | null
}

/** Reads two pages of a list. @param database where detected settings are stored; null: there is none yet */
export async function checkList(
  probe: ProbeApi,
  { config, signal }: ProbeOptions,
  stream: StreamDef,
  database: Database | null,
): Promise<CheckedStream> {
  const { reads } = stream
  const name = `list ${stream.name}`
  const only = (finding: Finding): CheckedStream => ({ stream: stream.name, finding, seen: null })
  if (reads.kind !== 'list') return only(ok(name, 'has no list'))
  const paging = pagingOf(stream, config.api)
  const look = async (query: ListCall['query']): Promise<CheckedStream> => {
    const call = { endpoint: reads.list, query, paging }
    const base = await pageBaseOf(paging, database && (await readProfile(database.pool)), () =>
      probe.attempt((api, signal) => probePageBase(api, { ...call, signal })),
    )
    const pages = await firstPages(probe, call, base)
    return {
      ...only(describeList(name, paging.style, originOf(base), pages)),
      seen: { call, base: base.number, pages },
    }
  }
  const { query = {} } = reads
  try {
    return await look(query).catch(async (error: unknown) => {
      if (!mayConcernParameters(error) || Object.keys(query).length === 0) throw error
      return withRefused(await look({}), Object.keys(query))
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BoatMirrorError && error.code === 'ABORTED')
      return only(
        warn(
          name,
          'not checked: the limit of requests per check was reached',
          'Set the detected settings and run boat-mirror check again.',
        ),
      )
    const { remedy, ...finding } = failed(name, error)
    return only({ ...finding, remedy: remedy?.replaceAll('<stream>', stream.name) ?? null })
  }
}

/** The finding about a list that is read without some of its parameters. */
const withRefused = ({ finding, ...rest }: CheckedStream, names: readonly string[]): CheckedStream => ({
  ...rest,
  finding: {
    ...finding,
    detail: `${finding.detail}; the API refuses ${names.join(', ')}, so ${names.length === 1 ? 'it is' : 'they are'} no longer sent`,
  },
})

/** Two pages show whether the API understands the paging parameter. */
async function firstPages(probe: ProbeApi, call: ListCall, { number: pageBase }: PageBase): Promise<readonly Page[]> {
  const pages: Page[] = []
  await probe.attempt(async (api, attempt) => {
    for await (const page of api.list({ ...call, pageBase, maxPages: 2, signal: attempt })) pages.push(page)
  })
  return pages
}

const origins: Readonly<Record<PageBase['how'], string>> = {
  set: '(API_PAGE_BASE)',
  none: '',
  detected: '(probed before)',
  probed: '(probed now)',
  assumed: '(assumed: too few records to detect it)',
}

/** The number of the first page in words, and where it comes from. */
const originOf = ({ number, how }: PageBase): string => (how === 'none' ? '' : `from ${number} ${origins[how]}`)

function describeList(name: string, style: string, base: string, pages: readonly Page[]): Finding {
  const [first, second] = pages
  if (first === undefined) return warn(name, 'no page was returned', 'Check whether the list has records upstream.')
  const envelope = first.envelope === 'array' ? 'a bare array' : `records at ${first.envelope}`
  const paging = style === 'none' ? 'one call' : `paging by ${style} ${base}`.trim()
  const total = first.total === null ? 'no total' : `a total of ${first.total}`
  const more = second === undefined || second.items.length === 0 ? '' : `, ${second.items.length} on the second page`
  return ok(name, `${envelope}, ${paging}, ${total}; ${counted(first.items.length, 'record')} on the first page${more}`)
}
