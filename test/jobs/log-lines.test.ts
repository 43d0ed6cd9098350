// What a worker says in its log: a line for a run that changed something, one an hour of all the rest.

import { pino } from 'pino'
import { expect, it, vi } from 'vitest'
import type { AttentionItem } from '../../src/inspect/status.ts'
import { startHourlyLine } from '../../src/jobs/hourly-line.ts'
import { createSandbox } from '../../src/sandbox/index.ts'
import { openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'

type Line = { readonly level: string; readonly time: string; readonly event: string; readonly msg: string }

it('says each hour that all is well, or what is not', async () => {
  const lines: { event: string; msg: string; level: number }[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const held: AttentionItem = {
    kind: 'held',
    about: ['rentals'],
    since: null,
    message: 'rentals: 40 deletions wait.',
    commands: [],
  }
  const answers = [async () => [], async () => [held], () => Promise.reject(new Error('no connection'))]
  const hourly = startHourlyLine({ read: () => answers.shift()?.() ?? Promise.resolve([]), log, everyMs: 1 })
  await vi.waitFor(() => expect(lines.length).toBeGreaterThan(2))
  await hourly.stop()
  expect(lines.slice(0, 3).map(({ event, msg }) => `${event}: ${msg}`)).toEqual([
    'well: all is well: nothing needs a person',
    'needs_person: needs a person: rentals: 40 deletions wait.',
    'state_unknown: whether all is well cannot be told now',
  ])
})

it('a sync without a terminal writes nothing but lines of the log on stderr, one for each stream that changed', async () => {
  await using database = await createTestDatabase()
  await using sandbox = await createSandbox({ size: 5 })
  await using cli = await openCommandLine({ DATABASE_URL: database.url, API_BASE_URL: sandbox.url, API_AUTH: 'none' })
  const lines = async (): Promise<readonly Line[]> => {
    const { stderr } = await cli.run(['sync', 'harbours', 'types'])
    return stderr
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }
  const [first, second] = [await lines(), await lines()]
  const runs = first.filter(({ event }) => event === 'run_finished')
  expect(runs.map(({ msg }) => msg.replace(/:.*/, '')).sort()).toEqual(['harbours', 'types'])
  expect(runs[0]?.msg).toMatch(/^\w+: done, \d+ read, \d+ inserted, \d+ requests, [\d.]+ s$/)
  expect(first.every(({ level, time }) => level === 'info' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(time))).toBe(true)
  expect(second.filter(({ event }) => event === 'run_finished')).toEqual([])
}, 120_000)
