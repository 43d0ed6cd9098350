// The section of the status page about the workers. Pure.

import type { WorkerStatus } from '../../database/workers.ts'
import { about, relative } from '../../format.ts'
import type { PageFacts } from '../page-facts.ts'
import { cell, listing } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

const row = ({ host, pid, version, startedAt, seenAt, doing, isSilent }: WorkerStatus, now: Date): Html =>
  html`<tr><th scope="row">${host}:${pid}</th>
${cell('State', html`<span class="state ${isSilent ? 'warn' : doing === null ? 'mute' : 'ok'}">${isSilent ? 'silent' : doing === null ? 'idle' : 'working'}</span>`)}
${cell('Version', version)}${cell('Up for', about((now.getTime() - startedAt.getTime()) / 1_000))}
${cell('Last seen', relative(seenAt, now))}${cell('Doing', doing ?? 'idle')}</tr>`

/** Every worker that was heard of within ten minutes. */
export const workersSection = ({ status, now }: PageFacts): Html =>
  listing({
    id: 'workers',
    title: 'Workers',
    columns: ['Worker', 'State', 'Version', 'Up for', 'Last seen', 'Doing'],
    rows: status.workers.map((worker) => row(worker, now)),
    none: 'No worker has reported for ten minutes.',
  })
