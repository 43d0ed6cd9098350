// What every page has around its sections: skip link, menu, the line of what has nothing to show. Pure.

import { instant } from '../../format.ts'
import { type Html, html, layout } from './html.ts'

export type Tone = 'ok' | 'warn' | 'bad' | 'busy' | 'mute'

/** What a page shows in addition to its subject. */
export type PageContext = {
  readonly now: Date
  readonly version: string
  /** Whether the reader may decide: `here`, in a browser that sent the token, or not before ADMIN_TOKEN is set. */
  readonly decides: 'here' | 'sign-in' | 'off'
}

/** A section, or a sentence that stands for one without content: a page joins these in one line at its end. */
export type Section = Html | { readonly quiet: string }

type PageFrame = {
  readonly title: string
  readonly now: Date
  readonly version: string
  readonly sections: readonly (Section | false)[]
  /** The entry of the menu that this page is. */
  readonly at?: Menu
  /** False: the script does not refresh it, because it has inputs. */
  readonly isLive?: boolean
}

const menu = [
  ['/', 'Status'],
  ['/changes', 'Changes'],
  ['/quarantine', 'Quarantine'],
  ['/webhook', 'Webhook'],
  ['/api/status', 'JSON'],
  ['/metrics', 'Metrics'],
] as const

type Menu = (typeof menu)[number][0]

/** A page of sections under the heading of its first. */
export function frame({ title, now, version, sections, at, isLive = true }: PageFrame): string {
  const shown = sections.flatMap((each) => (each !== false && 'markup' in each ? [each] : []))
  const quiet = sections.flatMap((each) => (each !== false && 'quiet' in each ? [each.quiet] : []))
  const body = html`<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="brand">Boat Mirror</p>
<nav aria-label="Pages">${menu.map(([path, name]) => html`<a href="${path}"${path === at && html` aria-current="page"`}>${name}</a> `)}</nav>
</header>
<main id="main" tabindex="-1">
<div id="live">
${shown}
${quiet.length > 0 && html`<p class="quiet">${quiet.join(' ')}</p>`}
<p class="updated">As of ${instant(now)} UTC · boat-mirror ${version}</p>
</div>
<p id="connection" role="status" aria-live="polite"></p>
</main>`
  return layout({ title: `${title} – Boat Mirror`, body, live: isLive })
}

type Headline = {
  readonly tone: Tone
  readonly title: string
  readonly detail: string
  /** Names and values below it. */
  readonly facts: readonly (readonly [name: string, value: Html | string | number | null])[]
}

/** The first section of a page about one thing; null members are omitted. */
export const headline = ({ tone, title, detail, facts }: Headline): Html =>
  html`<section class="summary ${tone}" aria-label="Summary"><h1>${title}</h1><p>${detail}</p>
<dl class="facts">${facts.map(([name, value]) => value !== null && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></section>`

/** A column of numbers is aligned to the right: its cells have the class `number`. */
type Column = string | { readonly number: string }

/** A table in a box that scrolls sideways; `name` describes it for screen readers. */
export const table = (name: string, columns: readonly Column[], rows: readonly Html[]): Html =>
  html`<div class="wide" tabindex="0" role="region" aria-label="${name}"><table><caption class="hidden">${name}</caption>
<thead><tr>${columns.map((column) => (typeof column === 'string' ? html`<th scope="col">${column}</th>` : html`<th scope="col" class="number">${column.number}</th>`))}</tr></thead><tbody>${rows}</tbody></table></div>`

type Listing = {
  readonly id: string
  readonly title: string
  readonly columns: readonly Column[]
  readonly rows: readonly Html[]
  /** Stands for the section if there is no row. */
  readonly none: string
}

/** A section that is a table. */
export const listing = ({ id, title, columns, rows, none }: Listing): Section =>
  rows.length === 0
    ? { quiet: none }
    : html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${table(title, columns, rows)}</section>`

/** A cell; on a phone its name is shown in front of it. */
export const cell = (name: string, value: Html | string | number | null): Html =>
  html`<td data-label="${name}">${value ?? '–'}</td>`

/** A cell with a number. */
export const numberCell = (name: string, value: string): Html =>
  html`<td data-label="${name}" class="number">${value}</td>`

/** A state in its colour. */
export const stateBadge = (tone: Tone, state: string | number): Html =>
  html`<span class="state ${tone}">${state}</span>`
