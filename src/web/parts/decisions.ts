// The decisions that pages offer, by state, with the texts for them; and the section of a page that leads to them and lists those that
// were made. Pure.

import { relative } from '../../format.ts'
import { type Event, type Status, transition } from '../../outbox/states.ts'
import type { Decision } from '../../sync/decisions.ts'
import { listing, type PageContext, type Section } from './frame.ts'
import { type Html, html } from './html.ts'

/** How the address of a page begins on which something is decided. */
export type Area = 'changes' | 'runs' | 'streams'

export type Action = {
  readonly area: Area
  readonly button: string
  /** In one sentence. */
  readonly does: string
  /** What it does to the state of a change. */
  readonly event?: Event
  /** The only state of a change that offers it. */
  readonly only?: Status
  /** The change is sent afterwards; `replacing`: if it may overwrite present values. */
  readonly sends?: true | 'replacing'
}

/** Every decision, by the end of its address. */
export const actions = {
  local: {
    ...{ area: 'changes', event: 'resolved-again', only: 'conflict', sends: true },
    button: 'Take this change',
    does: 'The change overwrites what the API shows. If the API shows other values by then, the change is in conflict again.',
  },
  remote: {
    ...{ area: 'changes', event: 'resolved-again', only: 'conflict', sends: 'replacing' },
    button: 'Keep what the API shows',
    does: 'The fields in conflict keep the values that the API shows. The other fields of the change are sent.',
  },
  'took-effect': {
    ...{ area: 'changes', event: 'resolved-done', only: 'unknown' },
    button: 'It took effect',
    does: 'The change counts as done. A worker reads its result back from the API into the mirror.',
  },
  'did-not': {
    ...{ area: 'changes', event: 'resolved-again', only: 'unknown', sends: true },
    button: 'It had no effect: send again',
    does: 'The change is sent again. If it did take effect, the API receives it twice.',
  },
  retry: {
    ...{ area: 'changes', event: 'retried', sends: true },
    button: 'Send again',
    does: 'The change is queued again. It is sent as shown below, unless the API shows other values by then.',
  },
  cancel: {
    ...{ area: 'changes', event: 'canceled' },
    button: 'Cancel the change',
    does: 'The change is not sent. You can send it again later.',
  },
  release: {
    area: 'runs',
    button: 'Release the deletions',
    does: 'A worker checks each deletion with the API and carries out those that the API confirms.',
  },
  pause: { area: 'streams', button: 'Pause', does: 'The stream is not read until you resume it.' },
  resume: { area: 'streams', button: 'Resume', does: 'The stream is read again.' },
  acknowledge: {
    area: 'streams',
    button: 'Acknowledge new fields',
    does: 'The new fields of the stream no longer need attention. Their values stay in _payload.',
  },
} as const satisfies Readonly<Record<string, Action>>

export type ActionName = keyof typeof actions

export const isAction = (name: string): name is ActionName => Object.hasOwn(actions, name)

/** The actions for a change in this state; `replaces`: it may overwrite present values. */
export const changeActions = (status: Status, replaces: boolean): readonly ActionName[] =>
  (Object.entries(actions) as [ActionName, Action][])
    .filter(([, { event, only = status }]) => event && only === status && transition(status, event) !== null)
    .map(([name]) => name)
    .filter((name) => name !== 'local' || replaces)

const outcomeOf = ({ doneAt, error }: Decision): string =>
  error ?? (doneAt === null ? 'waits for a worker' : 'carried out')

const hints = {
  off: 'To make decisions on these pages, set ADMIN_TOKEN (16 characters or more) and restart the worker.',
  'sign-in': 'To make decisions on these pages, open them in a browser and enter the token.',
  here: 'Each action shows its effect before you confirm it.',
} as const

/** How to turn on decisions on the pages; nothing if they are on. */
export const decisionHint = (decides: PageContext['decides']): Html | false =>
  decides !== 'here' && html`<p class="note">${hints[decides]}</p>`

type Decidable = {
  readonly path: string
  readonly names: readonly ActionName[]
  readonly decisions: readonly Decision[]
}

/** The sections of possible and of past decisions, if there are any. */
export function decisionSections(
  { path, names, decisions }: Decidable,
  { decides, now }: Pick<PageContext, 'decides' | 'now'>,
): readonly (Section | false)[] {
  const links = html`<p class="actions">${names.map((name) => html`<a class="action" href="${path}/${name}">${actions[name].button} …</a> `)}</p>`
  const choices =
    names.length > 0 &&
    html`<section aria-labelledby="choices"><h2 id="choices">Decide</h2><p class="note">${hints[decides]}</p>${decides === 'here' && links}</section>`
  const made =
    decisions.length > 0 &&
    listing({
      id: 'decisions',
      title: 'Decisions',
      columns: {
        Decision: ({ what }) => what,
        By: ({ who }) => who,
        Via: ({ via }) => via,
        When: ({ at }) => relative(at, now),
        Outcome: outcomeOf,
      },
      rows: decisions,
      none: '',
    })
  return [choices, made]
}
