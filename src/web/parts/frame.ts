// What every page has around its sections: skip link, menu, the line of what has nothing to show; tables, states in their colours, and
// commands with a button that copies them. Pure.

import { count, instant } from '../../format.ts'
import type { Freshness } from '../../inspect/streams.ts'
import { type Html, html, layout } from './html.ts'

export type Tone = 'ok' | 'warn' | 'bad' | 'busy' | 'mute'

/** What a page shows in addition to its subject. */
export type PageContext = {
  readonly now: Date
  readonly version: string
  /** Whether the reader may decide: `here`, in a browser that sent the token, or not before ADMIN_TOKEN is set. */
  readonly decides: 'here' | 'sign-in' | 'off'
}

/** A section, or a sentence in place of an empty one. A page joins these sentences in one line at its end. */
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

/** The columns of a table by their names: what each shows of a row. The first names the row; numbers are aligned to the right. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Html | string | number | null>>

/** A table in a box that scrolls sideways; `name` describes it for screen readers. On a phone, the name of each cell is in front of it. */
export function table<Row>(name: string, columns: Columns<Row>, rows: readonly Row[]): Html {
  const names = Object.keys(columns)
  const cells = rows.map((row) => Object.values(columns).map((show) => show(row)))
  const ofNumbers = names.map((_, column) => cells.some((row) => typeof row[column] === 'number'))
  const classOf = (column: number): Html | false => ofNumbers[column] === true && html` class="number"`
  const shown = (value: Html | string | number | null | undefined): Html | string =>
    typeof value === 'number' ? count(value) : (value ?? '–')
  const heads = names.map((each, column) => html`<th scope="col"${classOf(column)}>${each}</th>`)
  const lines = cells.map(([first, ...others]) => {
    const rest = others.map((each, i) => html`<td data-label="${names[i + 1]}"${classOf(i + 1)}>${shown(each)}</td>`)
    return html`<tr><th scope="row">${shown(first)}</th>${rest}</tr>`
  })
  return html`<div class="wide" tabindex="0" role="region" aria-label="${name}"><table><caption class="hidden">${name}</caption>
<thead><tr>${heads}</tr></thead><tbody>${lines}</tbody></table></div>`
}

type Listing<Row> = {
  readonly id: string
  readonly title: string
  readonly columns: Columns<Row>
  readonly rows: readonly Row[]
  /** Replaces the section if there is no row. */
  readonly none: string
}

export const listing = <Row>({ id, title, columns, rows, none }: Listing<Row>): Section =>
  rows.length === 0
    ? { quiet: none }
    : html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${table(title, columns, rows)}</section>`

/** The id of something as a link to its page. */
export const idLink = (area: string, id: string | number): Html => html`<a href="/${area}/${id}">${id}</a>`

export const stateBadge = (tone: Tone, state: string | number): Html =>
  html`<span class="state ${tone}">${state}</span>`

/** By the freshness of a stream. */
export const freshnessTones: Readonly<Record<Freshness, Tone>> = {
  fresh: 'ok',
  late: 'warn',
  failing: 'bad',
  unknown: 'mute',
  reading: 'busy',
  off: 'mute',
}

/** By the result of a run. */
export const runTones: Readonly<Record<string, Tone>> = {
  running: 'busy',
  done: 'ok',
  partial: 'warn',
  held: 'warn',
  failed: 'bad',
}

/** By the state of a change. */
export const changeTones: Readonly<Record<string, Tone>> = {
  queued: 'busy',
  sending: 'busy',
  blocked: 'warn',
  conflict: 'warn',
  unknown: 'warn',
  failed: 'bad',
  expired: 'mute',
  canceled: 'mute',
  done: 'ok',
}

const copyIcon = html`<svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><rect class="line" x="4" y="1" width="9" height="9" rx="2"/><path class="line" d="M2.5 4.5v6a2 2 0 0 0 2 2h5"/></svg>`

/** One command. The script shows its button. */
const commandHtml = (command: string): Html =>
  html`<span class="command"><code>${command}</code><button type="button" class="copy" data-copy="${command}" aria-label="Copy ${command}">${copyIcon}</button></span> `

/** Commands whose subject has a page: a run, a change or a quarantined record. */
const pages: readonly (readonly [RegExp, string, string])[] = [
  [/^boat-mirror runs (?:show|release) (\d+)$/, '/runs/', 'run'],
  [/^boat-mirror changes show (\d+)$/, '/changes/', 'change'],
  [/^boat-mirror quarantine (?:show )?(\d+)$/, '/quarantine/', 'quarantined record'],
]

/** Commands in a row, each given by its arguments. */
export const commandRow = (commands: readonly string[]): Html =>
  html`<p class="commands">${commands.map((each) => commandHtml(`boat-mirror ${each}`))}</p>`

/** Whole commands in a row, then a link to the page of each thing that they name. */
export function commandsHtml(commands: readonly string[], streams: readonly string[] = []): Html {
  const links = new Map(streams.map((name) => [streamPath(name), name]))
  for (const command of commands)
    for (const [pattern, path, noun] of pages) {
      const id = pattern.exec(command)?.[1]
      if (id !== undefined) links.set(`${path}${id}`, `${noun} ${id}`)
    }
  return html`<p class="commands">${commands.map(commandHtml)}${[...links].map(([path, text]) => html`<a href="${path}">${text}</a> `)}</p>`
}

const streamPath = (name: string): string => `/streams/${name}`

export const streamLink = (name: string): Html => html`<a href="${streamPath(name)}">${name}</a>`
