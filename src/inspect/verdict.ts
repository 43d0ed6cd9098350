// The first sentence of `status` and of the status page: whether anything is wrong, and what to do about it. Pure.

import { findStream } from '../catalog/catalog.ts'
import { count, counted } from '../format.ts'
import { isGrave, kinds } from './attention-kinds.ts'
import { timeLeft } from './estimate.ts'
import type { AttentionItem, StatusFacts } from './status.ts'

export type Verdict = {
  readonly tone: 'ok' | 'busy' | 'warn' | 'bad'
  /** One sentence with its full stop; commands stand in backticks. */
  readonly sentence: string
}

type Facts = Pick<StatusFacts, 'attention' | 'workers' | 'streams' | 'backlog' | 'estimate'>

/** At most this many conditions are named; the others are counted. */
const named = 3

export function verdictOf(facts: Facts): Verdict {
  const { attention, workers, streams, backlog } = facts
  const isIdle = backlog === null && workers.every(({ isSilent }) => isSilent)
  if (isIdle) return withoutWorker(facts)
  if (attention.length > 0)
    return {
      tone: toneOf(attention),
      sentence: `${needs(attention)}: ${phrasesOf(attention)}; ${firstStep(attention, attention.length === 1 ? 'run' : 'start with')}.`,
    }
  const on = streams.filter(({ state }) => state !== 'off')
  const read = on.filter(({ asOf }) => asOf !== null)
  const left = timeLeft(facts.estimate)
  const end = left === null ? '' : `, ${left}`
  if (on.length === 0 && streams.length > 0)
    return { tone: 'warn', sentence: 'Every stream is paused: resume one with `boat-mirror resume STREAM`.' }
  if (read.length < on.length || on.length === 0) {
    const progress = `${count(read.length)} of ${counted(on.length, 'stream')} complete`
    return backlog === null
      ? { tone: 'busy', sentence: 'Not everything has been read yet: the worker reads the rest on schedule.' }
      : { tone: 'busy', sentence: `The first sync is running: ${progress}${end}.` }
  }
  const reading = on.filter(({ state }) => state === 'reading' || state === 'late').length
  if (reading > 0) return { tone: 'busy', sentence: `Catching up: ${counted(reading, 'stream')} to go${end}.` }
  return { tone: 'ok', sentence: 'Everything is up to date.' }
}

/** Without a worker. Late data is then a consequence, and is not named. */
function withoutWorker({ attention, streams }: Facts): Verdict {
  const others = attention.filter(({ kind }) => kind !== 'late')
  const isLate = others.length < attention.length
  const tone = others.length > 0 ? toneOf(others) : 'warn'
  if (others.length > 0)
    return {
      tone,
      sentence: `No worker is running, and ${needs(others)}: ${phrasesOf(others)}; ${firstStep(others, 'run')}, then start \`boat-mirror worker\`.`,
    }
  const state = streams.every(({ asOf }) => asOf === null)
    ? 'Nothing has been read yet, and no worker is running'
    : isLate
      ? 'Data is older than its target, because no worker is running'
      : 'Everything is up to date, but no worker is running'
  return { tone, sentence: `${state}: start one with \`boat-mirror worker\`.` }
}

const toneOf = (items: readonly AttentionItem[]): Verdict['tone'] => (items.some(isGrave) ? 'bad' : 'warn')

const needs = ({ length }: readonly AttentionItem[]): string =>
  `${counted(length, 'thing')} ${length === 1 ? 'needs' : 'need'} your attention`

/** The most urgent conditions, each once, with the streams that they are about. */
function phrasesOf(items: readonly AttentionItem[]): string {
  const all = [...new Set(items.map(({ kind, about }) => `${kinds[kind].split(':')[0]}${streamsText(about)}`))]
  const shown = all.length > named ? [...all.slice(0, named - 1), `${all.length - named + 1} more`] : all
  return listed(shown)
}

/** One or two streams by name, more by their number. */
function streamsText(about: readonly string[]): string {
  const names = about.filter((name) => findStream(name) !== undefined)
  if (names.length === 0) return ''
  return ` (${names.length > 2 ? counted(names.length, 'stream') : listed(names)})`
}

const listed = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`

/** The command that helps with the most urgent condition, except `status` itself. */
function firstStep([first]: readonly AttentionItem[], verb: 'run' | 'start with'): string {
  const command = first?.commands.find((each) => each !== 'boat-mirror status')
  if (command === undefined) return 'see below'
  return `${verb} \`${command}\``
}
