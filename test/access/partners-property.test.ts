// Random lives of partners: roles are created, renamed, dropped, recreated and restored into another cluster while they queue, read,
// cancel and acknowledge. A model, which knows each role as a thing of its own, says what belongs to whom: an owner changes only by
// a hand-over, and a limited role, or one of its name, never sees more.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { grantCompanies, revokeCompanies } from '../../src/serve/access/company-access.ts'
import { opened } from '../helpers/opened.ts'
import { openPartners } from './partners-rig.ts'

const partners = opened(openPartners)

const names = ['crm', 'sales', 'shop'] as const
type Name = (typeof names)[number]
const references = ['p1', 'p2'] as const

type Step =
  | { readonly kind: 'create' | 'drop' | 'read' | 'cancel' | 'consume' | 'grant' | 'revoke'; readonly name: Name }
  | { readonly kind: 'rename' | 'handOver'; readonly name: Name; readonly to: Name }
  | { readonly kind: 'enqueue'; readonly name: Name; readonly reference: string }
  | { readonly kind: 'restore'; readonly names: readonly Name[] }

const name = fc.constantFrom(...names)
const stepOf = (
  kinds: readonly ('create' | 'drop' | 'read' | 'cancel' | 'consume' | 'grant' | 'revoke')[],
  weight: number,
) => ({
  weight,
  arbitrary: fc.record({ kind: fc.constantFrom(...kinds), name }) as fc.Arbitrary<Step>,
})
const step: fc.Arbitrary<Step> = fc.oneof(
  stepOf(['create'], 4),
  stepOf(['drop', 'grant'], 3),
  stepOf(['read', 'cancel', 'consume'], 8),
  stepOf(['revoke'], 1),
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('rename' as const, 'handOver' as const), name, to: name }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('enqueue' as const), name, reference: fc.constantFrom(...references) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restore' as const), names: fc.subarray([...names]) }) },
)

/** What one role is and owns, whatever its name. */
type Partner = {
  name: Name
  /** `waits`: for a role of its name in another cluster. */
  state: 'here' | 'waits' | 'gone'
  limited: boolean
  /** Whether it ever owned something or was limited: of others nothing is kept. */
  known: boolean
  readonly changes: Set<number>
  readonly references: Map<string, number>
  readonly consumers: Set<string>
}

/** The same, without a database. */
class Model {
  partners: Partner[] = []
  canceled = new Set<number>()
  here = (name: Name): Partner | undefined => this.partners.find((p) => p.state === 'here' && p.name === name)
  create(name: Name): void {
    const waiting = this.partners.find((p) => p.state === 'waits' && p.name === name)
    if (waiting !== undefined) waiting.state = 'here'
    else
      this.partners.push({
        name,
        state: 'here',
        limited: false,
        known: false,
        changes: new Set(),
        references: new Map(),
        consumers: new Set(),
      })
  }
  absent = (name: Name): Partner[] => this.partners.filter((p) => p.state !== 'here' && p.name === name)
  /** What it may see of the two rentals. */
  rentals(name: Name): number | string {
    if (this.absent(name).some(({ limited }) => limited)) return '42501'
    return this.here(name)?.limited ? 1 : 2
  }
}

const payment = `select outbox.enqueue('user.create', '{}', '{"firstName": "Ann"}', jsonb_build_object('reference', $1::text))::int as id`

async function take(model: Model, step: Step): Promise<void> {
  const { mirror, as, role } = partners
  if (step.kind === 'restore') {
    await partners.restore(step.names)
    model.partners = model.partners.filter(({ known }) => known)
    for (const p of model.partners) if (p.state === 'here') p.state = 'waits'
    for (const each of step.names) model.create(each)
    return
  }
  const own = model.here(step.name)
  const isRefused = model.rentals(step.name) === '42501'
  const changing = (work: (client: Parameters<Parameters<typeof mirror.db.transaction>[0]>[0]) => Promise<unknown>) =>
    mirror.db.transaction(work)
  if (step.kind === 'create') {
    if (own !== undefined) return
    await partners.create(step.name)
    return model.create(step.name)
  }
  if (step.kind === 'revoke') {
    await changing((client) => revokeCompanies(client, role(step.name)))
    for (const p of model.partners) if (p.name === step.name) p.limited = false
    return
  }
  if (step.kind === 'handOver') {
    const heir = model.here(step.to)
    const gone = model.absent(step.name)
    const handed = await mirror.all('select sync.hand_over($1, $2)', [role(step.name), role(step.to)]).then(
      () => true,
      () => false,
    )
    expect(handed).toBe(heir !== undefined && gone.length > 0)
    if (!handed || heir === undefined) return
    heir.known = true
    for (const p of gone) {
      for (const id of p.changes) heir.changes.add(id)
      for (const consumer of p.consumers) heir.consumers.add(consumer)
      p.changes.clear()
      p.consumers.clear()
    }
    // Which of several gone changes keeps a reference that the heir has not is of no interest here: the database says.
    for (const reference of references) {
      const [kept] = await mirror.all<{ id: number }>(
        'select id::int from outbox.changes where reference = $1 and id = any($2)',
        [reference, [...heir.changes]],
      )
      const ids = gone.map((p) => p.references.get(reference)).filter((id) => id !== undefined)
      const expected = heir.references.has(reference) ? [heir.references.get(reference)] : ids
      expect(expected.includes(kept?.id) || (kept === undefined && expected.length === 0)).toBe(true)
      if (kept !== undefined) heir.references.set(reference, kept.id)
      for (const p of gone) p.references.delete(reference)
    }
    return
  }
  if (own === undefined) return
  switch (step.kind) {
    case 'drop':
      await partners.drop(step.name)
      own.state = 'gone'
      model.partners = model.partners.filter(({ known, state }) => known || state === 'here')
      return
    case 'rename':
      if (model.here(step.to) !== undefined) return
      await partners.rename(step.name, step.to)
      own.name = step.to
      // The name is there from now on: who waited for it has it, or has missed the moment where the role is another partner's.
      if (!own.known) {
        model.partners = model.partners.filter((p) => p !== own)
        model.create(step.to)
      }
      for (const p of model.absent(step.to)) p.state = 'gone'
      return
    case 'grant':
      await changing((client) => grantCompanies(client, role(step.name), ['1']))
      for (const p of model.absent(step.name)) p.limited = false
      own.limited = true
      own.known = true
      return
    case 'read': {
      const rentals = await as(step.name, 'select id from mirror.rentals')
      expect(typeof rentals === 'string' ? rentals : rentals.length).toBe(model.rentals(step.name))
      const changes = await as<{ id: number; enqueued_by: string }>(
        step.name,
        'select id::int, enqueued_by from outbox.changes',
      )
      if (typeof changes === 'string') expect(isRefused).toBe(true)
      else {
        expect(new Set(changes.map(({ id }) => id))).toEqual(isRefused ? new Set() : own.changes)
        expect(changes.every(({ enqueued_by }) => enqueued_by === role(step.name))).toBe(true)
      }
      return
    }
    case 'enqueue': {
      const known = own.references.get(step.reference)
      const rows = await as<{ id: number }>(step.name, payment, [step.reference])
      if (typeof rows === 'string') return expect([rows, isRefused]).toEqual(['42501', true])
      const id = rows[0]?.id ?? 0
      if (known !== undefined) return expect(id).toBe(known)
      expect([isRefused, model.partners.some((p) => p.changes.has(id))]).toEqual([false, false])
      own.known = true
      own.changes.add(id)
      own.references.set(step.reference, id)
      return
    }
    case 'cancel':
      for (const id of model.partners
        .flatMap((p) => [...p.changes])
        .filter((each) => !model.canceled.has(each))
        .slice(0, 3)) {
        const ended = await as(step.name, 'select outbox.cancel($1)', [id])
        expect(typeof ended !== 'string', `${step.name} cancels ${id}: ${ended}`).toBe(
          own.changes.has(id) && !isRefused,
        )
        if (typeof ended !== 'string') model.canceled.add(id)
      }
      return
    case 'consume': {
      const owner = model.partners.find((p) => p.consumers.has('feed'))
      const rows = await as<{ cursor: string }>(step.name, `select * from mirror.next_changes('feed')`)
      const isAllowed = !isRefused && (owner === undefined || owner === own)
      expect(typeof rows === 'string' ? rows : 'read').toBe(isAllowed ? 'read' : '42501')
      if (typeof rows === 'string') return
      own.known = true
      own.consumers.add('feed')
      const last = rows.at(-1)
      if (last !== undefined)
        expect(await as(step.name, 'select mirror.ack_changes($1, $2)', ['feed', last.cursor])).toHaveLength(1)
    }
  }
}

it('an owner changes only by a hand-over, and a limited role or its name never sees more', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
    await partners.restore([])
    await partners.mirror.all(
      'truncate outbox.queue, outbox.dependencies, sync.consumer_positions, sync.partners, company_access.grants; select company_access.enforce()',
    )
    const model = new Model()
    for (const each of steps) {
      await take(model, each)
      await partners.notice()
    }
  })
  await fc.assert(property, { numRuns: 30 })
})
