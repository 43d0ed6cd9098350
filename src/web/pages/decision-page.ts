// The page that shows the effect of a decision before it is made: both sides of a conflict, the request that is sent, the records that
// are deleted. Only this page shows values, and only to a browser with the token. Pure.

import { descendantsOf } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { count, counted } from '../../format.ts'
import { stringifyJson } from '../../json/plain.ts'
import type { ChangeInfo, neighboursOf } from '../../outbox/inspect.ts'
import type { Preview } from '../../outbox/preview.ts'
import type { Run } from '../../sync/runs/runs.ts'
import { oneLine } from '../../text.ts'
import { type ActionName, actions } from '../parts/decisions.ts'
import {
  type Columns,
  frame,
  headline,
  idLink,
  listing,
  type PageContext,
  type Section,
  table,
} from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

/** The subject of a decision, as the page shows it. */
export type Subject = {
  /** The address of its own page. */
  readonly back: string
  readonly title: string
  readonly sections: readonly (Section | false)[]
  /** The input required besides the name. */
  readonly resultId?: 'asked' | 'needed'
}

type Form = {
  readonly subject: Subject
  readonly name: ActionName
  /** `change 42`. */
  readonly about: string
  /** The hash of the reviewed plan. The SQL functions refuse any other. */
  readonly plan: string
  /** Why the posted form was refused; empty: it was not, or none was posted. */
  readonly problem: string
  /** What was typed before. */
  readonly who: string
  readonly resultId: string
}

/** The longest name that is kept. */
export const longestName = 60

const shown = (value: unknown): string => oneLine(stringifyJson(value), 200)

function conflictSection({ conflict }: ChangeInfo): Section | false {
  if (conflict === null) return false
  return listing({
    id: 'conflict',
    title: 'Both sides of the conflict',
    columns: {
      Field: ([field]) => field,
      Before: ([, { base }]) => shown(base),
      'This change': ([, { local }]) => shown(local),
      'The API': ([, { remote }]) => shown(remote),
    },
    rows: Object.entries(conflict),
    none: '',
  })
}

function sentSection({ method, path, body, fields, note }: Preview): Html {
  const none = body === null ? 'Nothing would be sent.' : 'No field would change.'
  const columns: Columns<Preview['fields'][number]> = {
    Field: ({ field }) => field,
    'The API shows': ({ from }) => shown(from),
    Sent: ({ to }) => shown(to),
  }
  return html`<section aria-labelledby="sent"><h2 id="sent">What is sent</h2>${
    fields.length === 0 ? html`<p class="quiet">${none}</p>` : table('What is sent', columns, fields)
  }<p><code>${method} ${path}</code></p>${note !== null && html`<p class="note">${oneLine(note, 500)}</p>`}</section>`
}

const valuesSection = (title: string, values: Readonly<Record<string, unknown>>): Section =>
  listing({
    id: 'body',
    title,
    columns: { Field: ([field]) => field, Value: ([, value]) => shown(value) },
    rows: Object.entries(values),
    none: 'The change has no fields.',
  })

type Neighbours = Awaited<ReturnType<typeof neighboursOf>>

const blockedSection = ({ neededBy }: Neighbours): Section =>
  listing({
    id: 'blocked',
    title: 'Changes that wait for this one',
    columns: {
      Change: ({ id }) => idLink('changes', id),
      Operation: ({ operation }) => operation,
      State: ({ status }) => status,
    },
    rows: neededBy,
    none: 'No change waits for this one.',
  })

type ChangeSubject = {
  readonly change: ChangeInfo
  readonly neighbours: Neighbours
  /** null: nothing is sent after this decision. */
  readonly preview: Preview | null
  readonly makesRecord: boolean
}

export function changeSubject(name: ActionName, { change, neighbours, preview, makesRecord }: ChangeSubject): Subject {
  const waiting = neighbours.neededBy.some(({ status }) => status === 'queued' || status === 'blocked')
  const isMade = name === 'took-effect' && makesRecord
  const candidates = change.response?.candidates
  const sections = [
    conflictSection(change),
    preview !== null && sentSection(preview),
    preview === null && valuesSection(name === 'cancel' ? 'What is not sent' : 'What was sent', change.body ?? {}),
    name === 'cancel' && blockedSection(neighbours),
    isMade &&
      Array.isArray(candidates) &&
      listing({
        id: 'candidates',
        title: 'Records that the change may have created',
        columns: { Record: shown },
        rows: candidates,
        none: 'No record was found.',
      }),
  ]
  return {
    back: `/changes/${change.id}`,
    title: `change ${change.id}`,
    sections,
    ...(isMade ? { resultId: waiting ? ('needed' as const) : ('asked' as const) } : {}),
  }
}

/** A record whose deletion is held, with the values by which you recognize it. */
export type HeldRecord = { readonly key: string; readonly values: Readonly<Record<string, string | null>> }

type ReleaseSubject = {
  readonly run: Run
  readonly stream: StreamDef
  readonly held: number
  /** The records of this page. */
  readonly records: readonly HeldRecord[]
  /** The last key of this page, when there are more. */
  readonly after: string | null
}

export function releaseSubject({ run, stream, held, records, after }: ReleaseSubject): Subject {
  const names = [...new Set(records.flatMap(({ values }) => Object.keys(values)))]
  const asked =
    stream.parent === undefined
      ? 'Each record is requested from the API. Records answered with 404 or 410 are marked as deleted; the others stay.'
      : `Their parent records (${stream.parent}) are requested from the API again. Rows that are still missing are marked as deleted.`
  const more =
    after !== null &&
    html`<p><a href="/runs/${run.id}/release?${new URLSearchParams({ after }).toString()}">Next records</a></p>`
  return {
    back: `/runs/${run.id}`,
    title: `deletions held by run ${run.id}`,
    sections: [
      html`<section aria-label="What happens"><p>${counted(held, 'record')} of ${stream.name} ${held === 1 ? 'is' : 'are'} on hold. ${asked}</p>${more}</section>`,
      listing({
        id: 'records',
        title: records.length === held ? 'The records' : `${count(records.length)} of ${count(held)} records`,
        columns: {
          Key: ({ key }) => oneLine(key, 80),
          ...Object.fromEntries(
            names.map((name) => [name, ({ values }: HeldRecord) => oneLine(values[name] ?? '', 80)]),
          ),
        },
        rows: records,
        none: 'No record is on hold.',
      }),
    ],
  }
}

/** A pause of a stream, its end, or the acknowledgement of new fields. */
export function streamSubject(name: ActionName, stream: StreamDef): Subject {
  const below = descendantsOf(stream.name).map((child) => child.name)
  const all = [stream.name, ...below].join(', ')
  const text =
    name === 'acknowledge'
      ? `The page of ${stream.name} lists its unknown fields.`
      : name === 'pause'
        ? `${all} ${below.length === 0 ? 'is' : 'are'} not read until you resume ${stream.name}. A run in progress ends first. The rows stay as they are, the streams do not count as late, and changes are still sent.`
        : `${all} ${below.length === 0 ? 'is' : 'are'} read again. Overdue reads start at once.`
  return {
    back: `/streams/${stream.name}`,
    title: stream.name,
    sections: [html`<section aria-label="What happens"><p>${text}</p></section>`],
  }
}

/** The form. It has one button, so that Enter sends it. */
function formSection({ subject, name, plan, problem, who, resultId }: Form): Html {
  const { back, resultId: id } = subject
  return html`<section class="decide" aria-labelledby="decide"><h2 id="decide">Decide</h2>
<form method="post" action="${back}/${name}">
<label for="who">Your name. It is stored with the decision, marked as unverified.</label>
<input id="who" name="who" autocomplete="name" maxlength="${longestName}" required value="${who}">
${
  id !== undefined &&
  html`<label for="result-id">Id of the record that the change created${id === 'asked' && ' (leave empty if unknown)'}</label>
<input id="result-id" name="resultId" inputmode="numeric" pattern="[0-9]{1,18}" value="${resultId}"${id === 'needed' && html` required`}>`
}
<p class="wrong" role="alert">${problem}</p>
<button name="plan" value="${plan}">${actions[name].button}</button> <a href="${back}">Cancel</a></form></section>`
}

type About = Pick<PageContext, 'now' | 'version'>

export function renderDecisionPage(form: Form, page: About): string {
  const { subject, name, about } = form
  const { button, does } = actions[name]
  const title = `${button}: ${about}`
  const tone = name === 'release' || name === 'did-not' ? 'warn' : 'busy'
  const link = html`<a href="${subject.back}">${subject.title}</a>`
  const sections = [
    headline({ tone, title, detail: does, facts: [['About', link]] }),
    ...subject.sections,
    formSection(form),
  ]
  return frame({ ...page, title, sections, isLive: false })
}

/** The page where there is nothing to decide. */
export function renderRefusal(why: string, back: string, page: About): string {
  const title = 'There is nothing to decide'
  const sections = [
    headline({ tone: 'mute', title, detail: why, facts: [] }),
    html`<section aria-label="Back"><p><a href="${back}">Back</a></p></section>`,
  ]
  return frame({ ...page, title, sections, isLive: false })
}
