// A pusher between a real database and a sandbox, and a plan of one change for each of the 22 operations.

import { createApi } from '../../src/api/client.ts'
import { createGate } from '../../src/api/gate.ts'
import { parseJson } from '../../src/api/json.ts'
import { type Limiter, unlimited } from '../../src/api/limiter.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { createLogger } from '../../src/log.ts'
import { type Database, openDatabase } from '../../src/mirror/database.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import type { PushContext, PushSettings } from '../../src/outbox/context.ts'
import { type ChangeInfo, findChange } from '../../src/outbox/inspect.ts'
import { createPusher, type Pusher } from '../../src/outbox/pusher.ts'
import { createSandbox, type LoggedRequest, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts'
import { projectRecord } from '../../src/sync/project.ts'

export type RigOptions = {
  readonly databaseUrl: string
  readonly sandbox?: Partial<SandboxOptions>
  readonly settings?: Partial<Omit<PushSettings, 'api'>>
  readonly timeoutMs?: number
  readonly concurrency?: number
  readonly limiter?: Limiter
}

export type Rig = AsyncDisposable & {
  readonly database: Database
  readonly sandbox: Sandbox
  readonly context: PushContext
  readonly pusher: Pusher
  /** Calls outbox.enqueue. */
  queue(operation: string, target: object, body?: object, options?: object): Promise<string>
  /** Pushes until nothing can settle by itself. */
  push(): Promise<void>
  change(id: string): Promise<ChangeInfo>
  /** Writes that reached the sandbox, oldest first. */
  writes(): readonly LoggedRequest[]
  /** Puts records of the sandbox's truth into the mirror, as a sync would. */
  mirror(stream: string, key: Readonly<Record<string, string | number>>): Promise<void>
  /** The record of the truth with this key. */
  truth(stream: string, key: Readonly<Record<string, string | number>>): Record<string, unknown> | undefined
}

/** A second context on the same database and sandbox, as another process has it: an API client of its own. */
export function contextFor(
  rig: Pick<Rig, 'database' | 'sandbox'>,
  options: Omit<RigOptions, 'databaseUrl' | 'sandbox'> = {},
): {
  readonly context: PushContext
  close(): Promise<void>
} {
  const { api: apiSettings, ...rest } = readConfig({}, '/')
  const log = createLogger('silent')
  const settings = {
    ...rest,
    showDelayMs: 100,
    leaseMs: 1_500,
    ...options.settings,
    api: { ...apiSettings, timeoutMs: options.timeoutMs ?? 2_000, concurrency: options.concurrency ?? 8 },
  }
  const api = createApi({
    settings: { ...settings.api, baseUrl: rig.sandbox.url },
    limiter: options.limiter ?? unlimited,
    gate: createGate({ clock: systemClock, log }),
    clock: systemClock,
    log,
  })
  const context: PushContext = {
    database: rig.database,
    api,
    clock: systemClock,
    log,
    settings,
    project: projectRecord,
  }
  return { context, close: () => api.close() }
}

/** A migrated database is given; sandbox, API client and pusher are made and closed here. */
export async function createRig(options: RigOptions): Promise<Rig> {
  const sandbox = await createSandbox({ size: 60, ...options.sandbox })
  const log = createLogger('silent')
  const database = openDatabase({ url: options.databaseUrl, applicationName: 'outbox test', max: 10, log })
  const { context, close } = contextFor({ database, sandbox }, options)
  const pusher = createPusher(context)

  const truth: Rig['truth'] = (stream, key) =>
    sandbox
      .truth({ only: [stream] })
      [stream]?.find((row) => Object.entries(key).every(([name, value]) => String(row.key[name]) === String(value)))
      ?.record

  return {
    database,
    sandbox,
    context,
    pusher,
    truth,
    queue: async (operation, target, body = {}, wishes = {}) => {
      const { rows } = await database.pool.query<{ id: string }>('select outbox.enqueue($1, $2, $3, $4) as id', [
        operation,
        JSON.stringify(target),
        JSON.stringify(body),
        JSON.stringify(wishes),
      ])
      return String(rows[0]?.id)
    },
    push: async () => {
      await pusher.drain(AbortSignal.timeout(25_000), { until: 'settled' })
    },
    change: async (id) => {
      const found = await findChange(database.pool, id)
      if (found === null) throw new Error(`There is no change ${id}.`)
      return found
    },
    writes: () =>
      sandbox
        .requests()
        .filter((request) => request.method !== 'GET' && request.path.startsWith('/v3/'))
        .map((request) => ({ ...request, body: typeof request.body === 'string' ? JSON.parse(request.body) : null })),
    mirror: async (name, key) => {
      const stream = streamNamed(name)
      const record = truth(name, key)
      if (record === undefined) throw new Error(`There is no ${name} ${JSON.stringify(key)}.`)
      const request = Object.fromEntries(Object.entries(key).map(([column, value]) => [column, String(value)]))
      const projected = projectRecord(stream, parseJson(JSON.stringify(record)).value, request, 'UTC')
      if (!projected.ok) throw new Error(projected.reason)
      const write = { stream, source: 'GET /v3', readAt: new Date(), rows: [projected.row], mode: 'record' } as const
      await database.transaction((client) => applyWrites(client, { tables: [write] }))
    },
    [Symbol.asyncDispose]: async () => {
      await pusher.close()
      await close()
      await database.close()
      await sandbox.close()
    },
  }
}

export type Planned = {
  readonly operation: string
  readonly target: Readonly<Record<string, number>>
  readonly body: Readonly<Record<string, unknown>>
  /** The request that must reach the API. */
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** Fields its body must hold. */
  readonly sent: Readonly<Record<string, unknown>>
  /** Where the effect shows: a table of truth and mirror, and part of its key. */
  readonly stream: string
  readonly key: Readonly<Record<string, number>>
  /** Fields of the record that show the effect; null: it must be gone. */
  readonly effect: Readonly<Record<string, unknown>> | null
}

const idsIn = (sandbox: Sandbox, stream: string): Readonly<Record<string, number>>[] =>
  (sandbox.truth({ only: [stream] })[stream] ?? []).map((row) => row.key as Record<string, number>)

const pick = <T>(items: readonly T[], index: number, what: string): T => {
  const item = items[index % Math.max(1, items.length)]
  if (item === undefined) throw new Error(`The sandbox has no ${what}.`)
  return item
}

/** Slots that are free on days apart, so that bookings don't stand in each other's way. */
export function freeSlot(sandbox: Sandbox, index: number): { resourceId: string; slotId: string } {
  const slots = sandbox.truth({ only: ['resource_slots'], days: 1, durations: 1 }).resource_slots ?? []
  const key = pick(slots, index, 'free slot').key
  return { resourceId: String(key.resource_id), slotId: String(key.id) }
}

/** One change for each of the 22 operations, on records of its own; `index` picks others for another run. */
export function planAll(sandbox: Sandbox, index = 0): readonly Planned[] {
  const truth = sandbox.truth({
    only: [
      'rentals',
      'users',
      'user_identities',
      'user_licenses',
      'rental_options',
      'resource_options',
      'rental_resources',
    ],
  })
  const has = (stream: string, user: unknown): boolean => (truth[stream] ?? []).some((row) => row.key.user_id === user)
  const rentals = (truth.rentals ?? [])
    .filter((row) => String(row.record.status) === 'VALIDATED')
    .map((row) => row.key.id as number)
  const unassigned = (truth.rentals ?? []).filter((row) => !row.record.user).map((row) => row.key.id as number)
  const users = (truth.users ?? []).filter((row) => !row.record.deactivated).map((row) => row.key.id as number)
  const spare = <T>(items: readonly T[], place: number, what: string): T => pick(items, index * 7 + place, what)
  const rental = (place: number): number => spare(rentals, place, 'rental')
  const part = (stream: string, place: number) => spare(idsIn(sandbox, stream), place, stream)
  const withIdentity = users.filter((id) => has('user_identities', id))
  const withLicense = users.filter((id) => has('user_licenses', id))
  const withoutIdentity = users.filter((id) => !has('user_identities', id))
  const withoutLicense = users.filter((id) => !has('user_licenses', id))

  const optionRental = rental(3)
  const resourceOf = (truth.rental_resources ?? []).find((row) => row.key.rental_id === optionRental)
  const resourceId = (resourceOf?.record.resource as { id?: string } | undefined)?.id
  const taken = new Set(
    (truth.rental_options ?? [])
      .filter((row) => row.key.rental_id === optionRental)
      .map((row) => (row.record.option as { id: number }).id),
  )
  const freeOption = (truth.resource_options ?? [])
    .filter((row) => row.key.resource_id === resourceId)
    .map((row) => row.key.id as number)
    .find((id) => !taken.has(id))
  if (freeOption === undefined) throw new Error(`Rental ${optionRental} has every option.`)

  const slot = freeSlot(sandbox, index)
  const option = part('rental_options', 1)
  const goneOption = part('rental_options', 4)
  const payment = part('rental_payments', 1)
  const gonePayment = part('rental_payments', 4)
  const crew = part('rental_crew_members', 1)
  const goneCrew = part('rental_crew_members', 4)
  const mark = `r${index}`
  const email = `${mark}.new@example.com`
  const below = (key: Readonly<Record<string, number>>, plural: string): string =>
    `/v3/rentals/${key.rental_id}/${plural}/${key.id}`
  const parts = (key: Readonly<Record<string, number>>, param: string) => ({
    rentalId: Number(key.rental_id),
    [param]: Number(key.id),
  })
  const line = { currency: 'EUR', method: { id: 1 }, price: 12.5, reference: `${mark}-pay` }
  const member = { firstName: 'Ann', lastName: mark, email: `${mark}.crew@example.com`, type: 'ADULT' }
  const person = {
    firstName: 'Ann',
    lastName: mark,
    email,
    civility: 'MS',
    birthDate: '1990-05-01',
    organizationType: 'INDIVIDUAL',
    addressCountry: { code: 'FR' },
    nationality: { code: 'FR' },
    language: { code: 'fr' },
    addressStreet1: '1 quai',
    addressCity: 'Nice',
    addressPostalCode: '06000',
    addressState: 'PACA',
    landlinePhone: '+33 1',
    mobilePhone: '+33 6',
  }
  const license = { country: { code: 'FR' }, number: `${mark}-L`, type: { id: 1 }, year: 2010 }

  const plan = (
    operation: string,
    target: Planned['target'],
    body: Planned['body'],
    rest: Omit<Planned, 'operation' | 'target' | 'body' | 'sent'> & { sent?: Planned['sent'] },
  ): Planned => ({
    operation,
    target,
    body,
    sent: body,
    ...rest,
  })
  const [u1, u2, u3, u4, u5, u6] = [
    withoutIdentity,
    withIdentity,
    withIdentity,
    withoutLicense,
    withLicense,
    withLicense,
  ].map((list, place) => spare(list, place, 'user')) as [number, number, number, number, number, number]
  const updated = rental(0)
  const deleted = rental(1)
  const assigned = spare(unassigned, 0, 'rental without a user')
  const edited = spare(users, 8, 'user')
  const removed = spare(users, 9, 'user')
  const anyone = spare(users, 10, 'user')

  return [
    plan(
      'rental.create',
      {},
      { ...slot, referenceId: `${mark}-new`, orderLink: 'https://example.com/o' },
      {
        method: 'POST',
        path: '/v3/rentals',
        stream: 'rentals',
        key: {},
        effect: { referenceId: `${mark}-new`, status: 'PENDING' },
      },
    ),
    plan(
      'rental.update',
      { rentalId: updated },
      { contractLink: `https://example.com/${mark}` },
      {
        method: 'PUT',
        path: `/v3/rentals/${updated}`,
        stream: 'rentals',
        key: { id: updated },
        effect: { contractLink: `https://example.com/${mark}` },
      },
    ),
    plan(
      'rental.delete',
      { rentalId: deleted },
      {},
      { method: 'DELETE', path: `/v3/rentals/${deleted}`, stream: 'rentals', key: { id: deleted }, effect: null },
    ),
    plan(
      'rental_option.add',
      { rentalId: optionRental },
      { optionId: freeOption, quantity: 1, commissionPrice: 5.5 },
      {
        method: 'POST',
        path: `/v3/rentals/${optionRental}/options`,
        sent: { optionId: freeOption, quantity: 1, commissionPrice: '5.5' },
        stream: 'rental_options',
        key: { rental_id: optionRental },
        effect: { quantity: 1, option: expectId(freeOption) },
      },
    ),
    plan(
      'rental_option.update',
      parts(option, 'optionId'),
      { quantity: 7 + index },
      {
        method: 'PUT',
        path: below(option, 'options'),
        stream: 'rental_options',
        key: option,
        effect: { quantity: 7 + index },
      },
    ),
    plan(
      'rental_option.remove',
      parts(goneOption, 'optionId'),
      {},
      { method: 'DELETE', path: below(goneOption, 'options'), stream: 'rental_options', key: goneOption, effect: null },
    ),
    plan('rental_payment.add', { rentalId: rental(4) }, line, {
      method: 'POST',
      path: `/v3/rentals/${rental(4)}/payments`,
      stream: 'rental_payments',
      key: { rental_id: rental(4) },
      effect: { price: 12.5, reference: `${mark}-pay` },
    }),
    plan(
      'rental_payment.update',
      parts(payment, 'paymentId'),
      { reference: `${mark}-upd` },
      {
        method: 'PUT',
        path: below(payment, 'payments'),
        stream: 'rental_payments',
        key: payment,
        effect: { reference: `${mark}-upd` },
      },
    ),
    plan(
      'rental_payment.remove',
      parts(gonePayment, 'paymentId'),
      {},
      {
        method: 'DELETE',
        path: below(gonePayment, 'payments'),
        stream: 'rental_payments',
        key: gonePayment,
        effect: null,
      },
    ),
    plan(
      'rental_user.assign',
      { rentalId: assigned },
      { userId: anyone },
      {
        method: 'POST',
        path: `/v3/rentals/${assigned}/user`,
        stream: 'rentals',
        key: { id: assigned },
        effect: { user: expectId(anyone) },
      },
    ),
    plan('rental_crew_member.add', { rentalId: rental(5) }, member, {
      method: 'POST',
      path: `/v3/rentals/${rental(5)}/crewMembers`,
      stream: 'rental_crew_members',
      key: { rental_id: rental(5) },
      effect: { lastName: mark, email: member.email },
    }),
    plan(
      'rental_crew_member.update',
      parts(crew, 'crewMemberId'),
      { firstName: `${mark}-upd` },
      {
        method: 'PUT',
        path: below(crew, 'crewMembers'),
        stream: 'rental_crew_members',
        key: crew,
        effect: { firstName: `${mark}-upd` },
      },
    ),
    plan(
      'rental_crew_member.remove',
      parts(goneCrew, 'crewMemberId'),
      {},
      {
        method: 'DELETE',
        path: below(goneCrew, 'crewMembers'),
        stream: 'rental_crew_members',
        key: goneCrew,
        effect: null,
      },
    ),
    plan('user.create', {}, person, {
      method: 'POST',
      path: '/v3/users',
      stream: 'users',
      key: {},
      effect: { email, lastName: mark },
    }),
    plan(
      'user.update',
      { userId: edited },
      { addressStreet2: `${mark} stairs` },
      {
        method: 'PUT',
        path: `/v3/users/${edited}`,
        stream: 'users',
        key: { id: edited },
        effect: { addressStreet2: `${mark} stairs` },
      },
    ),
    plan(
      'user.delete',
      { userId: removed },
      {},
      { method: 'DELETE', path: `/v3/users/${removed}`, stream: 'users', key: { id: removed }, effect: null },
    ),
    plan(
      'user_identity.add',
      { userId: u1 },
      { number: `${mark}-I`, type: 'PASSEPORT' },
      {
        method: 'POST',
        path: `/v3/users/${u1}/identity`,
        stream: 'user_identities',
        key: { user_id: u1 },
        effect: { number: `${mark}-I` },
      },
    ),
    plan(
      'user_identity.update',
      { userId: u2 },
      { number: `${mark}-J` },
      {
        method: 'PUT',
        path: `/v3/users/${u2}/identity`,
        stream: 'user_identities',
        key: { user_id: u2 },
        effect: { number: `${mark}-J` },
      },
    ),
    plan(
      'user_identity.remove',
      { userId: u3 },
      {},
      {
        method: 'DELETE',
        path: `/v3/users/${u3}/identity`,
        stream: 'user_identities',
        key: { user_id: u3 },
        effect: null,
      },
    ),
    plan('user_license.add', { userId: u4 }, license, {
      method: 'POST',
      path: `/v3/users/${u4}/license`,
      stream: 'user_licenses',
      key: { user_id: u4 },
      effect: { number: `${mark}-L`, year: 2010 },
    }),
    plan(
      'user_license.update',
      { userId: u5 },
      { year: 1999 },
      {
        method: 'PUT',
        path: `/v3/users/${u5}/license`,
        stream: 'user_licenses',
        key: { user_id: u5 },
        effect: { year: 1999 },
      },
    ),
    plan(
      'user_license.remove',
      { userId: u6 },
      {},
      {
        method: 'DELETE',
        path: `/v3/users/${u6}/license`,
        stream: 'user_licenses',
        key: { user_id: u6 },
        effect: null,
      },
    ),
  ]
}

/** Stands for an embedded record with this id. */
const expectId = (id: number): { readonly id: number } => ({ id })

const matches = (wanted: unknown, shown: unknown): boolean =>
  typeof wanted === 'object' && wanted !== null
    ? typeof shown === 'object' &&
      shown !== null &&
      Object.entries(wanted).every(([key, value]) => matches(value, (shown as Record<string, unknown>)[key]))
    : wanted === shown

/** How often the effect of a planned change shows among the records of its table: 1 is right, also for what must be gone. */
export function effects(sandbox: Sandbox, planned: Planned): number {
  const rows = sandbox.truth({ only: [planned.stream] })[planned.stream] ?? []
  const here = rows.filter((row) => Object.entries(planned.key).every(([name, value]) => row.key[name] === value))
  if (planned.effect === null) return here.length === 0 ? 1 : 0
  return here.filter((row) => matches(planned.effect, row.record)).length
}

/** The same question to the mirror, tombstones left out. */
export async function mirroredEffects(database: Database, planned: Planned): Promise<number> {
  const conditions = Object.keys(planned.key).map((name, index) => `and ${name} = $${index + 1}`)
  const { rows } = await database.pool.query<{ _payload: unknown; _deleted_at: Date | null }>(
    `select _payload, _deleted_at from mirror.${planned.stream} where true ${conditions.join(' ')}`,
    Object.values(planned.key),
  )
  const live = rows.filter((row) => row._deleted_at === null)
  if (planned.effect === null) return live.length === 0 ? 1 : 0
  return live.filter((row) => matches(planned.effect, row._payload)).length
}
