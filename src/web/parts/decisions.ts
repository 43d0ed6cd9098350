// The section of a page about one thing that leads to what can be decided about it, and says what was. Pure.

import { relative } from '../../format.ts'
import type { Decision } from '../../sync/decisions.ts'
import { type ActionName, actions } from '../actions.ts'
import { cell, listing, type PageContext, type Section } from './frame.ts'
import { type Html, html } from './html.ts'

/** What came of a decision. */
const outcomeOf = ({ doneAt, error }: Decision): string =>
  error ?? (doneAt === null ? 'waits for a worker' : 'carried out')

const hints = {
  off: 'To make decisions on these pages, set ADMIN_TOKEN (16 characters or more) and restart the worker.',
  'sign-in': 'To make decisions on these pages, open them in a browser and enter the token.',
  here: 'Each action shows its effect before you confirm it.',
} as const

/** Says how decisions on the pages are turned on, where they are not. */
export const decisionHint = (decides: PageContext['decides']): Html | false =>
  decides !== 'here' && html`<p class="note">${hints[decides]}</p>`

type Decidable = {
  /** The address of what it is about. */
  readonly path: string
  readonly names: readonly ActionName[]
  readonly decisions: readonly Decision[]
}

/** Both sections; none where nothing can be decided and nothing was. */
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
      columns: ['Decision', 'By', 'Via', 'When', 'Outcome'],
      rows: decisions.map(
        (each) =>
          html`<tr><th scope="row">${each.what}</th>${cell('By', each.who)}${cell('Via', each.via)}${cell('When', relative(each.at, now))}${cell('Outcome', outcomeOf(each))}</tr>`,
      ),
      none: '',
    })
  return [choices, made]
}
