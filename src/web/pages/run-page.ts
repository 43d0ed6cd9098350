// The page of one run: counts, tasks, warnings and held deletions. Pure.

import { counted, duration, instant } from '../../format.ts'
import { planFacts, type RunDetails } from '../../inspect/runs.ts'
import type { Decision } from '../../sync/decisions.ts'
import { countNames, type Run } from '../../sync/runs/runs.ts'
import { oneLine } from '../../text.ts'
import { decisionSections } from '../parts/decisions.ts'
import { commandRow, frame, headline, listing, type PageContext, runTones, streamLink } from '../parts/frame.ts'
import { html } from '../parts/html.ts'

const countsOf = (run: Run): readonly (readonly [name: string, number: number])[] =>
  countNames.map((name) => [name, Number(run[name])] as const).filter(([, number]) => number > 0)

/** What a run reads, in words. */
export function kindOf({ hot, full_read, record_key }: Run): string {
  if (record_key !== null) return `record ${oneLine(record_key, 60)}`
  if (hot) return 'hot'
  return full_read ? 'complete, all details' : 'complete'
}

const askers: Readonly<Record<string, string>> = {
  first: 'first sync',
  schedule: 'scheduled',
  command: 'manual',
  release: 'release of held deletions',
}

/** What started a run. */
export const askerOf = ({ trigger }: Run): string => askers[trigger] ?? trigger

export function renderRunPage(
  { run, tasks, held, decisions }: RunDetails & { readonly decisions: readonly Decision[] },
  { now, version, decides }: PageContext,
): string {
  const isOpen = decisions.some(({ doneAt }) => doneAt === null)
  const names = held.count > 0 && !isOpen ? (['release'] as const) : []
  const seconds = ((run.finished_at ?? now).getTime() - run.started_at.getTime()) / 1_000
  const commands = [`runs show ${run.id}`, ...(held.count > 0 ? [`runs release ${run.id}`] : []), `sync ${run.stream}`]
  const sections = [
    headline({
      tone: runTones[run.status] ?? 'mute',
      title: `Run ${run.id}`,
      detail: `${run.stream} · ${run.status} · ${duration(seconds)}`,
      facts: [
        ['Stream', streamLink(run.stream)],
        ['Kind', kindOf(run)],
        ['Trigger', askerOf(run)],
        ['Started', `${instant(run.started_at)} UTC`],
        ['Ended', run.finished_at === null ? 'still running' : `${instant(run.finished_at)} UTC`],
        ['Error', run.error === null ? null : oneLine(run.error, 500)],
      ],
    }),
    ...decisionSections({ path: `/runs/${run.id}`, names, decisions }, { decides, now }),
    html`<section aria-labelledby="commands"><h2 id="commands">Commands</h2>${commandRow(commands)}</section>`,
    listing({
      id: 'counts',
      title: 'What it read and changed',
      columns: { What: ([name]) => name, Count: ([, number]) => number },
      rows: countsOf(run),
      none: 'Nothing has been read so far.',
    }),
    listing({
      id: 'tasks',
      title: 'Tasks',
      columns: {
        Task: ({ kind }) => kind,
        State: ({ status }) => status,
        Count: (task) => task.tasks,
        Attempts: ({ attempts }) => attempts,
        Error: ({ error }) => (error === null ? '' : oneLine(error, 240)),
      },
      rows: tasks,
      none: 'No tasks are kept: they are deleted after a day.',
    }),
    listing({
      id: 'warnings',
      title: 'Warnings',
      columns: { Warning: (warning) => oneLine(warning, 500) },
      rows: run.warnings,
      none: 'The run has no warnings.',
    }),
    run.plan !== null &&
      listing({
        id: 'plan',
        title: 'Why deletions are held',
        columns: { What: ([name]) => name, Found: ([, value]) => oneLine(value, 500) },
        rows: planFacts(run.plan),
        none: '',
      }),
    held.count > 0 &&
      listing({
        id: 'held',
        title: `${counted(held.count, 'deletion')} ${held.count === 1 ? 'needs' : 'need'} your decision`,
        columns: { Key: (key) => oneLine(key, 100) },
        rows: held.keys,
        none: '',
      }),
  ]
  return frame({ title: `Run ${run.id}`, now, version, sections })
}
