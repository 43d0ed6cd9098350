// The findings of `check`, as values and as lines.

import { ApiError, BoatMirrorError, messageOf } from '../errors.ts'
import { oneLine, table } from './terminal/output.ts'

export type Finding = {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** What to do, and what to set. */
  readonly remedy: string | null
}

export const ok = (name: string, detail: string): Finding => ({ name, status: 'ok', detail, remedy: null })

/** What works, but may not be meant so, or costs something. */
export const warn = (name: string, detail: string, remedy: string): Finding => ({
  name,
  status: 'warn',
  detail,
  remedy,
})

/** Turns an error into a finding about the thing that was checked. */
export function failed(name: string, error: unknown): Finding {
  const remedy = error instanceof BoatMirrorError ? (error.remedy ?? remedyFor(error)) : null
  return { name, status: 'fail', detail: messageOf(error), remedy }
}

/** What helps where the error itself names no remedy. */
function remedyFor(error: BoatMirrorError): string | null {
  switch (error.code) {
    case 'PAGING_IGNORED':
      return 'Set API_PAGING and API_PAGE_PARAM as the API expects them, or lists.STREAM.paging in the configuration file.'
    case 'PAGING_ENVELOPE':
      return 'Set API_ITEMS_PATH to the place of the records in the answer, for example data.items.'
    case 'API_NOT_FOUND':
      return 'Check API_BASE_URL. It must be the root of the API, without /v3.'
    default:
      return error instanceof ApiError ? 'Check API_BASE_URL and the state of the API.' : null
  }
}

/** One line per finding, and below it what to do. */
export function findingsText(findings: readonly Finding[]): string {
  const lines = table(
    ['', 'WHAT', 'FOUND'],
    findings.map(({ status, name, detail }) => [status, name, oneLine(detail, 300)]),
  )
  const remedies = findings.flatMap(({ name, remedy }) => (remedy === null ? [] : [`${name}: ${remedy}`]))
  return remedies.length === 0 ? lines : `${lines}\n\n${[...new Set(remedies)].join('\n')}`
}
