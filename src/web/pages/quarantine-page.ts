// The page of one quarantined record: where it came from and why it cannot be mirrored. Its payload is for the command line. Pure.

import { counted, instant } from '../../format.ts'
import type { QuarantineFacts } from '../../sync/quarantine.ts'
import { oneLine } from '../../text.ts'
import { commandRow, streamLink } from '../parts/commands.ts'
import { frame, headline } from '../parts/frame.ts'
import { html } from '../parts/html.ts'
import type { PageContext } from './page-context.ts'
import { reasonOf } from './stream-page.ts'

/** The whole page. */
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
