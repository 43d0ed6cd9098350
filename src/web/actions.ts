// The possible decisions on the pages, by state, and the texts for them. Pure.

import type { ChangeInfo } from '../outbox/inspect.ts'
import { type Event, transition } from '../outbox/states.ts'
import type { DecisionKind } from '../state/decisions.ts'

/** How the address of a decision ends. */
export type ActionName =
  | 'retry'
  | 'cancel'
  | 'local'
  | 'remote'
  | 'took-effect'
  | 'did-not'
  | 'release'
  | 'pause'
  | 'resume'

type Action = {
  readonly what: DecisionKind
  readonly button: string
  /** In one sentence. */
  readonly does: string
}

export const actions: Readonly<Record<ActionName, Action>> = {
  retry: {
    what: 'retry',
    button: 'Send again',
    does: 'The change is queued again, and sent as below unless the API shows something else by then.',
  },
  cancel: { what: 'cancel', button: 'Cancel the change', does: 'The change is not sent. It can be sent again later.' },
  local: {
    what: 'local',
    button: 'Take this change',
    does: 'The change goes over what the API shows. If that has changed by then, it is a conflict again.',
  },
  remote: {
    what: 'remote',
    button: 'Keep what the API shows',
    does: 'The fields in conflict stay as the API shows them; the other fields of the change are sent.',
  },
  'took-effect': {
    what: 'took_effect',
    button: 'It took effect',
    does: 'The change counts as done. A worker reads back what the API shows of it into the mirror.',
  },
  'did-not': {
    what: 'did_not',
    button: 'It had no effect: send again',
    does: 'The change is sent again. If it took effect after all, the API gets it twice.',
  },
  release: {
    what: 'release',
    button: 'Release the deletions',
    does: 'A worker confirms each deletion with the API, and carries out those that it confirms.',
  },
  pause: { what: 'pause', button: 'Pause', does: 'The stream is not read for a while.' },
  resume: { what: 'resume', button: 'Resume', does: 'The stream is read again.' },
}

/** The action that an address names, if there is one. */
export const findAction = (name: string): ActionName | undefined =>
  Object.hasOwn(actions, name) ? (name as ActionName) : undefined

const ofChanges: readonly (readonly [ActionName, Event, ChangeInfo['status'] | null])[] = [
  ['local', 'resolved-again', 'conflict'],
  ['remote', 'resolved-again', 'conflict'],
  ['took-effect', 'resolved-done', 'unknown'],
  ['did-not', 'resolved-again', 'unknown'],
  ['retry', 'retried', null],
  ['cancel', 'canceled', null],
]

/** What can be decided about a change; `replaces`: it may be sent over what is there. */
export const changeActions = (status: ChangeInfo['status'], replaces: boolean): readonly ActionName[] =>
  ofChanges
    .filter(([, event, only]) => transition(status, event) !== null && (only === null || only === status))
    .map(([name]) => name)
    .filter((name) => name !== 'local' || replaces)
