// Commands as they are typed, each with a button that copies it, and links to the pages of what they name. Pure.

import { type Html, html } from './html.ts'

const copyIcon = html`<svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><rect class="line" x="4" y="1" width="9" height="9" rx="2"/><path class="line" d="M2.5 4.5v6a2 2 0 0 0 2 2h5"/></svg>`

/** One command, whole; the script shows its button. */
const commandHtml = (command: string): Html =>
  html`<span class="command"><code>${command}</code><button type="button" class="copy" data-copy="${command}" aria-label="Copy ${command}">${copyIcon}</button></span> `

/** Where a page shows what a command would: of a run, a change or a quarantined record. */
const pages: readonly (readonly [RegExp, string, string])[] = [
  [/^boat-mirror runs (?:show|release) (\d+)$/, '/runs/', 'run'],
  [/^boat-mirror changes show (\d+)$/, '/changes/', 'change'],
  [/^boat-mirror quarantine (?:show )?(\d+)$/, '/quarantine/', 'quarantined record'],
]

/** Commands in a row, from the arguments of each. */
export const commandRow = (commands: readonly string[]): Html =>
  html`<p class="commands">${commands.map((each) => commandHtml(`boat-mirror ${each}`))}</p>`

/** Whole commands in a row, then links to the pages of what they name, each once. */
export function commandsHtml(commands: readonly string[], streams: readonly string[] = []): Html {
  const links = new Map(streams.map((name) => [streamPath(name), name]))
  for (const command of commands)
    for (const [pattern, path, noun] of pages) {
      const id = pattern.exec(command)?.[1]
      if (id !== undefined) links.set(`${path}${id}`, `${noun} ${id}`)
    }
  return html`<p class="commands">${commands.map(commandHtml)}${[...links].map(([path, text]) => html`<a href="${path}">${text}</a> `)}</p>`
}

/** The page of a stream. */
const streamPath = (name: string): string => `/streams/${name}`

/** A link to the page of a stream. */
export const streamLink = (name: string): Html => html`<a href="${streamPath(name)}">${name}</a>`
