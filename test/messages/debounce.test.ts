// When a condition is sent, and in which words: pure. And that the rules of Prometheus speak of the same conditions.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { streams } from '../../src/catalog/catalog.ts'
import { alertKinds } from '../../src/inspect/attention-kinds.ts'
import type { AttentionItem } from '../../src/inspect/status.ts'
import { type Condition, createDatabaseWatch, decide, type Subject } from '../../src/messages/alerts/debounce.ts'
import { bodyFor, messagesOf, testMessage } from '../../src/messages/alerts/message.ts'
import { commandNames } from '../../src/text.ts'

const start = Date.parse('2030-01-01T12:00:00Z')
const at = (seconds: number): Date => new Date(start + seconds * 1_000)
const rentals: Subject = { kind: 'failing', about: 'rentals' }

describe('a condition', () => {
  /** What is sent, check by check: `there` says at which seconds a check finds it. */
  const play = (subject: Subject, looks: readonly (readonly [number, boolean])[]): readonly string[] => {
    let known: readonly Condition[] = []
    return looks.map(([seconds, there]) => {
      const decision = decide(known, there ? [subject] : [], at(seconds))
      // The receiver takes everything.
      const over = new Set(decision.over)
      known = decision.known
        .filter((condition) => !over.has(condition))
        .map((condition) => ({ ...condition, told: condition.told || decision.begun.includes(condition) }))
      return `${decision.begun.length > 0 ? 'begun' : ''}${decision.over.length > 0 ? 'over' : ''}`
    })
  }
  const cases = [
    {
      name: 'is told once when it was there for two minutes, and once when it was gone for two',
      looks: [
        [0, true],
        [119, true],
        [120, true],
        [500, true],
        [600, false],
        [719, false],
        [720, false],
        [900, false],
      ],
      told: ['', '', 'begun', '', '', '', 'over', ''],
    },
    {
      name: 'that flickers before it was told is not told',
      looks: [
        [0, true],
        [60, false],
        [100, true],
        [200, true],
        [210, false],
        [500, false],
      ],
      told: ['', '', '', '', '', ''],
    },
    {
      name: 'that flickers after it was told is told neither as over nor again',
      looks: [
        [0, true],
        [120, true],
        [200, false],
        [300, true],
        [400, false],
        [500, true],
        [900, true],
      ],
      told: ['', 'begun', '', '', '', '', ''],
    },
  ] as const
  for (const { name, looks, told } of cases) it(name, () => expect(play(rentals, looks)).toEqual(told))

  it('that is an event is never over', () =>
    expect(
      play({ kind: 'fields', about: 'users.x' }, [
        [0, true],
        [120, true],
        [200, false],
        [900, false],
      ]),
    ).toEqual(['', 'begun', '', '']))

  it('whose message is not taken is told until it is', () => {
    const first = decide([], [rentals], at(0))
    const second = decide(first.known, [rentals], at(130))
    expect(second.begun).toHaveLength(1)
    expect(decide(second.known, [rentals], at(140)).begun).toEqual(second.begun)
    expect(decide(second.known, [], at(140)).known).toEqual([])
  })

  it('that no database can remember is told by the same rule', async () => {
    const told: string[] = []
    let taken = false
    const watch = createDatabaseWatch(async ([condition], state) => {
      told.push(`${condition?.kind} ${state}`)
      return taken
    })
    for (const seconds of [0, 130, 140]) await watch(true, at(seconds))
    taken = true
    for (const seconds of [150, 160]) await watch(true, at(seconds))
    for (const seconds of [200, 330, 340]) await watch(false, at(seconds))
    expect(told).toEqual([...new Array(3).fill('database begun'), 'database over'])
  })
})

describe('a message', () => {
  const condition = (kind: Condition['kind'], about: string, seconds = 0): Condition => ({
    kind,
    about,
    since: at(seconds),
    told: false,
    goneSince: null,
  })
  const attention: readonly AttentionItem[] = [
    {
      kind: 'failing',
      about: ['rentals'],
      since: null,
      message: 'rentals: <what the API said>',
      commands: ['boat-mirror runs rentals', 'boat-mirror check'],
    },
    {
      kind: 'held',
      about: ['users'],
      since: null,
      message: 'users: 30 missing',
      commands: ['boat-mirror runs show 7', 'boat-mirror runs release 7'],
    },
  ]
  const situation = { place: 'api.test', attention, now: at(600) }

  it('is one for all of a kind that begin together, with commands that can be typed as they stand', () => {
    const conditions = [
      condition('failing', 'rentals', 5),
      condition('failing', 'users'),
      condition('held', 'users'),
      condition('queue', ''),
    ]
    expect(messagesOf(conditions, 'begun', situation).map(({ message }) => message)).toEqual([
      {
        text: 'Boat Mirror (api.test): rentals, users: the last run did not read everything. Try: `boat-mirror runs rentals`, `boat-mirror check`',
        kind: 'failing',
        state: 'begun',
        stream: null,
        since: at(0),
        details: { about: ['rentals', 'users'], commands: ['boat-mirror runs rentals', 'boat-mirror check'] },
      },
      expect.objectContaining({
        stream: 'users',
        text: 'Boat Mirror (api.test): users: deletions wait for your decision. Try: `boat-mirror runs show 7`, `boat-mirror runs release 7`',
      }),
      expect.objectContaining({
        stream: null,
        text: 'Boat Mirror (api.test): a worker has no queue: it works without one, more slowly. Try: `boat-mirror check`',
      }),
    ])
  })

  it('says when it is over, and after how long', () =>
    expect(messagesOf([condition('late', 'rentals')], 'over', situation)[0]?.message).toMatchObject({
      text: 'Boat Mirror (api.test), resolved after 10 min: rentals: older than the target.',
      details: { about: ['rentals'], commands: [] },
    }))

  it('names few of many, and of a new field the stream alone', () => {
    const many = streams.map(({ name }) => condition('late', name))
    expect(messagesOf(many, 'begun', situation)[0]?.message.text).toContain(`, ${many.length - 8} more: older`)
    const field = messagesOf([condition('fields', 'users.0123abcd')], 'begun', situation)[0]
    expect(field?.message.details.about).toEqual(['users'])
    expect(JSON.stringify(field?.message)).not.toContain('0123abcd')
  })

  it('is a card for the workflows of Teams, and plain JSON for everybody else', () => {
    const message =
      messagesOf([condition('failing', 'rentals')], 'begun', situation)[0]?.message ?? testMessage('x', at(0))
    const cards = ['https://prod-1.westeurope.logic.azure.com/x', 'https://a.b.environment.api.powerplatform.com/x']
    for (const address of cards)
      expect(JSON.parse(bodyFor(address, message)), address).toMatchObject({
        type: 'message',
        attachments: [
          {
            contentType: 'application/vnd.microsoft.card.adaptive',
            content: {
              type: 'AdaptiveCard',
              version: '1.2',
              body: [
                {
                  type: 'TextBlock',
                  wrap: true,
                  text: 'Boat Mirror (api.test): rentals: the last run did not read everything.',
                },
                {
                  type: 'FactSet',
                  facts: [{ title: 'Since' }, { title: 'Try', value: 'boat-mirror runs rentals' }, {}],
                },
              ],
            },
          },
        ],
      })
    for (const address of ['https://hooks.slack.com/services/x', 'https://logic.azure.com.evil.example/x'])
      expect(JSON.parse(bodyFor(address, message))).toMatchObject({
        text: message.text,
        kind: 'failing',
        state: 'begun',
      })
  })
})

describe('the rules of Prometheus', () => {
  type Rule = {
    readonly alert: string
    readonly labels: { readonly kind?: string }
    readonly annotations: { readonly description: string }
  }
  const { groups } = parse(readFileSync(new URL('../../deploy/prometheus/alerts.yml', import.meta.url), 'utf8')) as {
    groups: { rules: Rule[] }[]
  }
  const rules = groups.flatMap((group) => group.rules)

  it('are about all that messages are about, and besides only about what no worker can say of itself', () => {
    expect(rules.flatMap(({ labels }) => labels.kind ?? []).sort()).toEqual(Object.keys(alertKinds).sort())
    expect(rules.filter(({ labels }) => labels.kind === undefined).map(({ alert }) => alert)).toEqual([
      'BoatMirrorDown',
      'BoatMirrorApiErrors',
      'BoatMirrorOutboxStuck',
      'BoatMirrorAlertsFailing',
    ])
  })

  it('advise a command that there is', () => {
    const commands = commandNames.split('|')
    for (const { alert, annotations } of rules.filter((rule) => rule.alert !== 'BoatMirrorDown')) {
      const advised = [...annotations.description.matchAll(/boat-mirror ([a-z]+)/g)].map(([, name]) => name)
      expect(advised.length, alert).toBeGreaterThan(0)
      for (const name of advised) expect(commands, alert).toContain(name)
    }
  })
})
