// Records in quarantine: their list, and the page of one, which says where it came from and why it cannot be mirrored. Only the
// command line shows their content. Pure.

import { findStream, holdsPerson } from '../../catalog/catalog.ts'
import { count, counted, instant, relative } from '../../format.ts'
import type { QuarantineFacts } from '../../sync/quarantine.ts'
import { oneLine } from '../../text.ts'
import type { PageFacts } from '../page-facts.ts'
import { commandRow, frame, headline, idLink, type PageContext, streamLink, table } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

/** The reason may quote a record of a person: the page then names the command that shows it. */
function reasonOf({ stream, reason, id }: QuarantineFacts): string {
  const known = findStream(stream) // a stream of another version may hold persons, too
  return known === undefined || holdsPerson(known)
    ? `may contain personal data: boat-mirror quarantine show ${id}`
    : oneLine(reason, 240)
}

export const quarantineTable = (found: readonly QuarantineFacts[], now: Date): Html =>
  table<QuarantineFacts>(
    'Records in quarantine',
    {
      Record: ({ id }) => idLink('quarantine', id),
      Key: ({ key }) => oneLine(key, 60),
      Reason: reasonOf,
      Stream: ({ stream }) => streamLink(stream),
      Times: ({ times }) => times,
      'Last seen': ({ lastSeenAt }) => relative(lastSeenAt, now),
    },
    found,
  )

/** The most records that the list shows. */
export const quarantineListed = 100

/** The list; `stream` empty: of all streams. */
export function renderQuarantineListPage(
  { status, now, version }: PageFacts,
  { found, stream }: { readonly found: readonly QuarantineFacts[]; readonly stream: string },
): string {
  const { total, byStream } = status.quarantine
  const links = Object.entries(byStream).map(
    ([name, number]) =>
      html`<a href="/quarantine?stream=${name}"${name === stream && html` aria-current="page"`}>${name} ${count(number)}</a> `,
  )
  const more = found.length === quarantineListed && ` The ${quarantineListed} seen last are shown.`
  const sections = [
    html`<section aria-labelledby="quarantine"><h1 id="quarantine">Quarantine</h1>
<p class="note">Records that cannot be mirrored. Each is read again with its list, and leaves when it is good.${more}</p>
<nav aria-label="Records by stream"><a href="/quarantine"${stream === '' && html` aria-current="page"`}>all ${count(total)}</a> ${links}</nav>
${found.length === 0 ? html`<p class="quiet">No records are in quarantine.</p>` : quarantineTable(found, now)}
${commandRow(['quarantine', 'quarantine retry --all'])}</section>`,
  ]
  return frame({ title: 'Quarantine', at: '/quarantine', now, version, sections })
}

export function renderQuarantinePage(bad: QuarantineFacts, { now, version }: PageContext): string {
  const { id, stream, key, endpoint } = bad
  const sections = [
    headline({
      tone: 'warn',
      title: `Quarantined record ${id}`,
      detail: `${stream} · ${oneLine(key, 80)}`,
      facts: [
        ['Stream', streamLink(stream)],
        ['Endpoint', endpoint],
        ['Reason', reasonOf(bad)],
        ['First seen', `${instant(bad.firstSeenAt)} UTC`],
        ['Last seen', `${instant(bad.lastSeenAt)} UTC, ${counted(bad.times, 'time')}`],
      ],
    }),
    html`<section aria-labelledby="commands"><h2 id="commands">Commands</h2>${commandRow([`quarantine show ${id}`, `quarantine retry ${id}`])}</section>`,
  ]
  return frame({ title: `Quarantined record ${id}`, now, version, sections })
}
