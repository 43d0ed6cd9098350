// The outbox: its section of the status page, the list of changes, and the page of one change. They show the names of fields, but no
// values and no messages of the API, because these may be personal. Pure.

import { writeNamed } from '../../catalog/writes.ts'
import { count, counted, instant, relative } from '../../format.ts'
import type { ChangeInfo, neighboursOf } from '../../outbox/inspect.ts'
import { kindOf } from '../../outbox/kinds/kinds.ts'
import type { Decision } from '../../sync/decisions.ts'
import { openStates, type PageFacts } from '../page-facts.ts'
import { changeActions, decisionSections } from '../parts/decisions.ts'
import {
  changeTones,
  commandRow,
  frame,
  headline,
  idLink,
  listing,
  type PageContext,
  type Section,
  stateBadge,
  table,
} from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

/** The states of changes with their meanings; those that need a decision come first. */
const stateMeanings = {
  conflict: 'the API has another value',
  unknown: 'may or may not have taken effect',
  failed: 'refused by the API',
  blocked: 'depend on a change that did not succeed',
  queued: 'waiting for their turn or the next attempt',
  sending: 'being sent, or sent and not confirmed yet',
  expired: 'not sent in time',
  canceled: 'canceled before they were sent',
  done: 'took effect',
} as const satisfies Record<ChangeInfo['status'], string>

const numberOf = ({ outbox }: PageFacts['status'], state: string): number => Number(outbox[state] ?? 0)

/** A filter: all open changes, or those of one state. States without changes are missing. */
function stateLinks(status: PageFacts['status'], shown: string | null): Html {
  const links = Object.entries(stateMeanings)
    .filter(([state]) => numberOf(status, state) > 0 || state === shown)
    .map(
      ([state, meaning]) =>
        html`<a href="/changes?status=${state}" title="${meaning}"${state === shown && html` aria-current="page"`}>${state} ${count(numberOf(status, state))}</a> `,
    )
  return html`<nav aria-label="Changes by state"><a href="/changes"${shown === '' && html` aria-current="page"`}>open ${count(openStates.reduce((sum, state) => sum + numberOf(status, state), 0))}</a> ${links}</nav>`
}

const changesTable = (changes: readonly ChangeInfo[], now: Date): Html =>
  table<ChangeInfo>(
    'Changes, the newest first',
    {
      Change: ({ id }) => idLink('changes', id),
      State: ({ status }) => stateBadge(changeTones[status] ?? 'mute', status),
      Operation: ({ operation }) => operation,
      Record: ({ aggregate }) => aggregate,
      Queued: (each) => relative(each.enqueued_at, now),
    },
    changes,
  )

/** The section of the status page: open changes, and how many there are in each state. */
export function outboxSection({ status, changes, now }: PageFacts): Section {
  if (Object.keys(stateMeanings).every((state) => state === 'done' || numberOf(status, state) === 0))
    return { quiet: 'No changes to send.' }
  const oldest = status.outbox.oldestQueuedAt
  const open = numberOf(status, 'queued') + numberOf(status, 'sending') + numberOf(status, 'blocked')
  const age = oldest instanceof Date ? `, the oldest queued ${relative(oldest, now)}` : ''
  return html`<section aria-labelledby="outbox"><h2 id="outbox">Outbox</h2>
<p class="note">${open === 0 ? 'No changes to send' : `${counted(open, 'change')} to send${age}`}.</p>${stateLinks(status, null)}
${changes.length > 0 && changesTable(changes, now)}</section>`
}

/** The most changes that the list shows. */
export const changesListed = 100

/** The list of changes; `state` empty: the open ones. */
export function renderChangesPage(
  { status, now, version }: PageFacts,
  { changes, state }: { readonly changes: readonly ChangeInfo[]; readonly state: string },
): string {
  const more = changes.length === changesListed && ` The newest ${changesListed} are shown.`
  const sections = [
    html`<section aria-labelledby="changes"><h1 id="changes">Changes</h1>
<p class="note">Changes that programs queued for the API.${more}</p>${stateLinks(status, state)}
${changes.length === 0 ? html`<p class="quiet">${state === '' ? 'No changes are open.' : `No changes are ${state}.`}</p>` : changesTable(changes, now)}
${commandRow([`changes list${state === '' ? '' : ` --status ${state}`}`])}</section>`,
  ]
  return frame({ title: 'Changes', at: '/changes', now, version, sections })
}

type ChangeDetails = {
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
      columns: {
        Change: (each) => idLink('changes', each.id),
        Relation: ({ how }) => how,
        Operation: ({ operation }) => operation,
        State: (each) => each.status,
      },
      rows: [
        ...neighbours.waitsFor.map((each) => ({ ...each, how: 'this change waits for it' })),
        ...neighbours.neededBy.map((each) => ({ ...each, how: 'waits for this change' })),
      ],
      none: 'No other change waits for this one, and it waits for none.',
    }),
  ]
  return frame({ title: `Change ${id}`, now, version, sections })
}
