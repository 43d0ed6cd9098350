// What every page has around its sections: skip link, the way to the other pages, what the script keeps true. Pure.

import { instant } from '../../format.ts'
import { type Html, html, layout } from './html.ts'

export type Tone = 'ok' | 'warn' | 'bad' | 'busy' | 'mute'

type PageFrame = {
  readonly title: string
  readonly now: Date
  readonly version: string
  readonly sections: readonly Html[]
  /** It is the status page, to which the others lead back. */
  readonly isHome?: boolean
  /** False: the script does not refresh it, because it has inputs. */
  readonly isLive?: boolean
}

/** A page of sections under the heading of its first. */
export function frame({ title, now, version, sections, isHome = false, isLive = true }: PageFrame): string {
  const body = html`<a class="skip" href="#main">Skip to the ${isHome ? 'status' : 'content'}</a>
<header>
<p class="brand">Boat Mirror</p>
<nav aria-label="Pages">${!isHome && html`<a href="/">Status</a> `}<a href="/api/status">JSON</a> <a href="/metrics">Metrics</a></nav>
</header>
<main id="main" tabindex="-1">
<div id="live">
${sections}
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

type Listing = {
  readonly id: string
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly Html[]
  /** Said where there is no row. */
  readonly none: string
}

/** A section that is a table. */
export function listing({ id, title, columns, rows, none }: Listing): Html {
  const table = html`<div class="wide" tabindex="0" role="region" aria-label="${title}"><table><caption class="hidden">${title}</caption>
<thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${rows.length === 0 ? html`<p class="quiet">${none}</p>` : table}</section>`
}

/** A cell; on a phone its name is shown in front of it. */
export const cell = (name: string, value: Html | string | number | null): Html =>
  html`<td data-label="${name}">${value ?? '–'}</td>`
