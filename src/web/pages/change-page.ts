// The page of one change of the outbox: how it stands and what it waits for. Of what it writes only the names of fields: the
// values, and the API's own words, may be about people. Pure.

import { writeNamed } from '../../catalog/writes.ts'
import { count, instant, relative } from '../../format.ts'
import type { ChangeInfo, neighboursOf } from '../../outbox/inspect.ts'
import { kindOf } from '../../outbox/kinds/kinds.ts'
import type { Decision } from '../../sync/decisions.ts'
import { changeActions } from '../actions.ts'
import { commandRow } from '../parts/commands.ts'
import { decisionSections } from '../parts/decisions.ts'
import { cell, frame, headline, listing } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'
import { changeTones } from '../parts/tones.ts'
import type { PageContext } from './page-context.ts'

export type ChangeDetails = {
  readonly change: ChangeInfo
  readonly neighbours: Awaited<ReturnType<typeof neighboursOf>>
  /** The newest first. */
  readonly decisions: readonly Decision[]
}

const valuesNote = {
  off: "Only the command line shows values and the API's messages.",
  on: "Values are shown on the decision pages and on the command line. Only the command line shows the API's messages.",
} as const

/** What you can do about a change in this state. */
const remedies: Readonly<Record<string, (id: string) => readonly string[]>> = {
  queued: (id) => [`changes cancel ${id}`],
  failed: (id) => [`changes retry ${id}`],
  conflict: (id) => [`changes resolve ${id} --take local`, `changes resolve ${id} --take remote`],
  unknown: (id) => [`changes resolve ${id} --took-effect`, `changes resolve ${id} --did-not`],
}

const neighbourRow = (each: ChangeDetails['neighbours']['waitsFor'][number], how: string): Html =>
  html`<tr><th scope="row"><a href="/changes/${each.id}">${each.id}</a></th>${cell('Relation', how)}${cell('Operation', each.operation)}${cell('State', each.status)}</tr>`

/** The whole page. */
export function renderChangePage(
  { change, neighbours, decisions }: ChangeDetails,
  { now, version, decides }: PageContext,
): string {
  const { id, status } = change
  const kind = kindOf(writeNamed(change.operation))
  const isOpen = decisions.some(({ doneAt }) => doneAt === null)
  const names = isOpen ? [] : changeActions(status, kind.replaces === true)
  const fields = Object.keys(change.conflict ?? change.body ?? {})
  const at = (instantAt: Date | null): string | null => (instantAt === null ? null : `${instant(instantAt)} UTC`)
  const sections = [
    headline({
      tone: changeTones[status] ?? 'mute',
      title: `Change ${id}`,
      detail: `${change.operation} · ${status} · ${change.aggregate}`,
      facts: [
        ['Queued', `${at(change.enqueued_at)} by ${change.enqueued_by}`],
        ['Attempts', count(change.attempts)],
        ['Next attempt', relative(change.next_attempt_at, now)],
        ['Sent', at(change.sent_at)],
        ['Settled', at(change.settled_at)],
        [change.conflict === null ? 'Fields' : 'Fields in conflict', fields.length === 0 ? null : fields.join(', ')],
      ],
    }),
    ...decisionSections({ path: `/changes/${id}`, names, decisions }, { decides, now }),
    html`<section aria-labelledby="commands"><h2 id="commands">Commands</h2>
<p class="note">${valuesNote[decides === 'off' ? 'off' : 'on']}</p>${commandRow([`changes show ${id}`, ...(remedies[status]?.(id) ?? [])])}</section>`,
    listing({
      id: 'neighbours',
      title: 'Related changes',
      columns: ['Change', 'Relation', 'Operation', 'State'],
      rows: [
        ...neighbours.waitsFor.map((each) => neighbourRow(each, 'this change waits for it')),
        ...neighbours.neededBy.map((each) => neighbourRow(each, 'waits for this change')),
      ],
      none: 'No other change waits for this one, and it waits for none.',
    }),
  ]
  return frame({ title: `Change ${id}`, now, version, sections })
}
