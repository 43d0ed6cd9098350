// What a storm comes to, as lines of Markdown.

import { memoryBoundMb, type StormResult } from './campaign.ts'
import { allKinds } from './schedule.ts'

const queueName = { postgres: 'Postgres', redis: 'Redis' } as const

/** The tables of one or more storms, and all their violations with queue and time. */
export function summary(results: readonly StormResult[]): {
  readonly lines: readonly string[]
  readonly violations: readonly string[]
} {
  const total = (of: (result: StormResult) => number): string => results.map((result) => of(result)).join(' | ')
  const row = (name: string, of: (result: StormResult) => number): string => `| ${name} | ${total(of)} |`
  const text = (name: string, of: (result: StormResult) => string): string =>
    `| ${name} | ${results.map(of).join(' | ')} |`
  const status = (name: string) => (result: StormResult) => result.statuses[name] ?? 0
  const others = [...new Set(results.flatMap(({ statuses }) => Object.keys(statuses)))].filter(
    (name) => name !== 'done' && name !== 'unknown',
  )
  const header = `| ${results.map(({ queue }) => `queue on ${queueName[queue]}`).join(' | ')} |`
  const rule = `|---|${results.map(() => '---|').join('')}`
  const impossible = [
    ...new Set(results.flatMap((result) => [...result.impossible].map(([kind, why]) => `${kind} (${why})`))),
  ]
  return {
    lines: [
      `| fault ${header}`,
      rule,
      ...allKinds.map((kind) =>
        text(kind, (result) => (result.impossible.has(kind) ? '–' : String(result.faults.get(kind) ?? 0))),
      ),
      row('**faults in all**', ({ faults }) => [...faults.values()].reduce((sum, each) => sum + each, 0)),
      '',
      `| meanwhile ${header}`,
      rule,
      row('minutes of faults', ({ ms }) => ms / 60_000),
      row('workers', ({ workers }) => workers),
      row('stories told by partners', ({ stories }) => stories),
      row('changes done', status('done')),
      row('changes unknown', status('unknown')),
      ...others.map((name) => row(`changes ${name}`, status(name))),
      row('rounds of the world', ({ worldRounds }) => worldRounds),
      row('records changed by them', ({ worldChanges }) => worldChanges),
      row('runs of streams', ({ runs }) => runs),
      row('requests that reached the API', ({ requests }) => requests),
      row('live rows at the end', ({ rows }) => rows),
      row('rows of the change feed', ({ feedRows }) => feedRows),
      row('starts refused because a service was out', ({ refusedStarts }) => refusedStarts),
      text(`memory of a worker at most, MB (bound ${memoryBoundMb})`, ({ peakMb }) =>
        peakMb === null ? 'not measured' : String(peakMb),
      ),
      row('seconds until all was settled', ({ settledInMs }) => Math.round(settledInMs / 1_000)),
      row('**violations**', ({ violations }) => violations.length),
      ...(impossible.length === 0 ? [] : ['', `Not provoked: ${impossible.join('; ')}.`]),
    ],
    violations: results.flatMap(({ queue, violations }) =>
      violations.map((violation) => `${queueName[queue]} ${violation}`),
    ),
  }
}
