// The messages of alerts: one for all conditions of a kind that started, or ended. They have our own words, names of streams and
// consumers, counts and ids; never text of the API or of a receiver. Pure.

import { findStream } from '../../catalog/catalog.ts'
import { duration } from '../../format.ts'
import { type AlertKind, alertKinds } from '../../inspect/attention-kinds.ts'
import type { AttentionItem } from '../../inspect/status.ts'
import type { Condition } from './debounce.ts'

type AlertMessage = {
  readonly text: string
  readonly kind: AlertKind | 'test'
  readonly state: 'begun' | 'over'
  /** If it is about exactly one stream. */
  readonly stream: string | null
  readonly since: Date
  readonly details: {
    /** Streams and consumers that it is about; empty: the mirror as a whole. */
    readonly about: readonly string[]
    /** Commands that show it, or settle it. */
    readonly commands: readonly string[]
  }
}

const namesShown = 8
/** The commands for conditions that only a worker notices. */
const workersOwn = ['boat-mirror check']

type Situation = {
  /** The API's host. */
  readonly place: string
  readonly attention: readonly AttentionItem[]
  readonly now: Date
}

/** One message for each kind among these conditions, in their order. */
export function messagesOf(
  conditions: readonly Condition[],
  state: AlertMessage['state'],
  situation: Situation,
): readonly { readonly message: AlertMessage; readonly conditions: readonly Condition[] }[] {
  const kinds = [...new Set(conditions.map(({ kind }) => kind))]
  return kinds.map((kind) => {
    const same = conditions.filter((condition) => condition.kind === kind)
    return { message: messageOf(kind, same, { ...situation, state }), conditions: same }
  })
}

function messageOf(
  kind: AlertKind,
  conditions: readonly Condition[],
  { place, attention, now, state }: Situation & { readonly state: AlertMessage['state'] },
): AlertMessage {
  const about = namesOf(kind, conditions)
  const since = new Date(Math.min(...conditions.map((condition) => condition.since.getTime())))
  const shown = about.length > namesShown ? [...about.slice(0, namesShown), `${about.length - namesShown} more`] : about
  const what = `${about.length === 0 ? '' : `${shown.join(', ')}: `}${alertKinds[kind]}`
  const commands = state === 'over' ? [] : commandsFor(kind, about, attention)
  const text =
    state === 'over'
      ? `Boat Mirror (${place}), resolved after ${duration((now.getTime() - since.getTime()) / 1_000)}: ${what}.`
      : `Boat Mirror (${place}): ${what}.${commands.length === 0 ? '' : ` Try: ${commands.map((each) => `\`${each}\``).join(', ')}`}`
  const [only] = about
  const stream = about.length === 1 && only !== undefined && findStream(only) !== undefined ? only : null
  return { text, kind, state, stream, since, details: { about, commands } }
}

/** Names that may be sent. The name of a field is text of the API, so its stream is named. */
function namesOf(kind: AlertKind, conditions: readonly Condition[]): readonly string[] {
  const names = conditions.map(({ about }) => (kind === 'fields' ? (about.split('.')[0] ?? '') : about))
  return [...new Set(names.filter((name) => name !== ''))]
}

/** The commands of the first of these items. */
function commandsFor(
  kind: AlertKind,
  about: readonly string[],
  attention: readonly AttentionItem[],
): readonly string[] {
  const of = attention.filter((each) => each.kind === kind)
  const named = of.find((each) => each.about.some((name) => about.includes(name))) ?? of[0]
  if (kind === 'failing' && about[0] !== undefined) return [`boat-mirror runs ${about[0]}`, ...workersOwn]
  return named?.commands ?? workersOwn
}

/** What `alert --test` sends. */
export const testMessage = (place: string, now: Date): AlertMessage => ({
  text: `Boat Mirror (${place}): this is a test. Messages arrive here when something needs your attention, and when that ends.`,
  kind: 'test',
  state: 'begun',
  stream: null,
  since: now,
  details: { about: [], commands: [] },
})

/** Workflows of Teams accept only Adaptive Cards. */
const isTeams = (address: string): boolean =>
  /(^|\.)(logic\.azure\.com|api\.powerplatform\.com|powerautomate\.com|webhook\.office\.com)$/.test(
    new URL(address).hostname,
  )

/** The body for this receiver: what Slack and Mattermost take (`text`), or a card for Teams. */
export const bodyFor = (address: string, message: AlertMessage): string =>
  JSON.stringify(isTeams(address) ? cardOf(message) : message)

function cardOf({ text, state, since, details }: AlertMessage): object {
  const facts = [
    { title: 'Since', value: since.toISOString() },
    ...details.commands.map((command) => ({ title: 'Try', value: command })),
  ]
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      {
        type: 'TextBlock',
        text: text.replace(/ Try: .*$/s, ''),
        wrap: true,
        weight: 'Bolder',
        color: state === 'over' ? 'Good' : 'Attention',
      },
      { type: 'FactSet', facts },
    ],
  }
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  }
}
