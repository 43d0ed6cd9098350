// A new rental, pending for 15 minutes. After a lost answer it is the rental with this reference and departure that did not exist before.
// None was created if every new rental of the boat departs at another time. The list cannot be searched by reference, so the newest
// rentals are compared.

import { get, type Json, type JsonObject, LosslessNumber, textOf } from '../../api/wire/json.ts'
import { streamNamed } from '../../catalog/catalog.ts'
import { instantOf } from '../../date-time.ts'
import type { FilledWrite } from '../../mirror/rows.ts'
import type { PushContext } from '../context.ts'
import { instantsAlike, type Likeness } from '../likeness.ts'
import type { Done } from '../outcome.ts'
import { idsOf, readNewest, readRecord, type Seen, shortestPage } from '../reads.ts'
import type { Delivery, Kind, Sent } from './kind.ts'
import { byIdentity, inFull, ownAmong, theNewOne } from './new-record.ts'
import { answered, finishMaking, preparedCreation } from './shared.ts'

/** What makes references of this installation unique: see outbox.installation. */
type Installation = { readonly id: string; readonly number: number }

/** `former`: the installations that this database is a copy of. */
type Installations = Installation & { readonly former: readonly Installation[] }

/** The reference of a new rental if the partner gave none. Numeric if the API takes only numbers (docs/sources.md, differences). */
export function ownReference(installation: Installation, changeId: string, numeric: boolean): string {
  if (!numeric) return `bm-${installation.id}-${changeId}`
  return String(BigInt(installation.number) * 1_000_000_000n + (BigInt(changeId) % 1_000_000_000n))
}

/** Turns a reference of digits into a number, for an API that takes integers; null: leading zeros would be lost. */
export function numericReference(body: JsonObject): JsonObject | null {
  const digits = textOf(body.referenceId)
  if (digits === undefined || !/^\d{1,18}$/.test(digits)) return body
  return /^0\d/.test(digits) ? null : { ...body, referenceId: new LosslessNumber(digits) }
}

/** Why a reference with leading zeros is not sent as a number. */
const zerosLost = (changeId: string, reference: string): string =>
  `referenceId is "${reference}", which API_REFERENCE_AS_NUMBER=on would send as ${BigInt(reference)}: the rental would not be ` +
  'found by it. Nothing was sent. Queue the rental with a reference without leading zeros, or, if the API takes text, set ' +
  `API_REFERENCE_AS_NUMBER=off and run: boat-mirror changes retry ${changeId}.`

async function firstRow<Row extends object>(context: PushContext, text: string, values: string[] = []) {
  const { rows } = await context.database.pool.query<Row>(text, values)
  return rows[0]
}

async function installationOf(context: PushContext): Promise<Installations> {
  const sql = `select id, number::float8 as number, former from outbox.installation`
  const row = await firstRow<Installations>(context, sql)
  if (row === undefined) throw new Error('outbox.installation has no row.')
  return row
}

/** Departure of the slot in the mirror, ISO; null if it is unknown. */
async function departureOf(context: PushContext, { resourceId, slotId }: JsonObject): Promise<string | null> {
  const row = await firstRow<{ departure_datetime: Date | null }>(
    context,
    `select departure_datetime from mirror.resource_slots where resource_id = $1 and id = $2`,
    [String(textOf(resourceId)), String(textOf(slotId))],
  )
  return row?.departure_datetime?.toISOString() ?? null
}

/** The newest rentals of the resource (docs/sources.md, reference/rental-management/list-rentals-paginated). */
const newestOf = (delivery: Delivery, { resourceId }: JsonObject): Promise<readonly Seen[]> =>
  readNewest(delivery, { resourceId: String(textOf(resourceId)) }, 'creationDateDesc')

/** Whether the page has all rentals since the attempt: it is short, or in order and ends with a rental known before. */
function reachesBack(found: readonly Seen[], { evidence }: Sent, timeZone: string): boolean {
  const [newest, oldest] = [found[0]?.record, found.at(-1)?.record]
  if (newest === undefined || oldest === undefined || found.length < shortestPage) return true
  const created = (record: Json): number | null => instantOf(textOf(get(record, 'creationDatetime')) ?? '', timeZone)
  const id = (record: Json): number => Number(textOf(get(record, 'id')))
  const [first, last] = [created(newest) ?? 0, created(oldest) ?? 0]
  const inOrder = first === last ? id(newest) > id(oldest) : first > last
  return inOrder && (evidence.ids ?? []).includes(String(textOf(get(oldest, 'id'))))
}

/** The resource and company of a new rental, which the API does not return with it. */
async function filled({ context, change }: Delivery, { rootId }: Done, { body }: Sent, { readAt }: Seen) {
  const resource_id = String(textOf(body.resourceId))
  const row = await firstRow<{ company_id: string | null }>(
    context,
    `select company_id from mirror.resources where id = $1`,
    [resource_id],
  )
  const values = { resource_id, company_id: row?.company_id ?? null }
  const made: FilledWrite = {
    stream: streamNamed(change.write.stream),
    readAt,
    rows: [{ key: [String(rootId)], values }],
  }
  return made
}

export const rentalCreation: Kind = {
  makesRecord: true,
  expires: true,
  async prepare(delivery, { params, fields }) {
    const { context, change } = delivery
    const numeric = context.settings.api.referenceAsNumber
    const referenceId = textOf(fields.referenceId) ?? ownReference(await installationOf(context), change.id, numeric)
    const [present, departure] = await Promise.all([newestOf(delivery, fields), departureOf(context, fields)])
    const given = { params, fields: { ...fields, referenceId } }
    const prepared = preparedCreation(change.write, given, { ids: idsOf(present), departure })
    if (!numeric) return prepared
    const body = numericReference(prepared.body)
    return body === null
      ? { kind: 'failed', error: zerosLost(change.id, referenceId), response: null }
      : { ...prepared, body }
  },

  async formerly(delivery, given) {
    const { context, change } = delivery
    const prepared = await rentalCreation.prepare(delivery, given)
    if (prepared.kind !== 'prepared' || textOf(given.fields.referenceId) !== undefined) return prepared
    // A copy looks for the reference of its original, which is another installation.
    const numeric = context.settings.api.referenceAsNumber
    const { former } = await installationOf(context)
    const references = former.map((each) => ownReference(each, change.id, numeric))
    const shown = (await newestOf(delivery, given.fields)).map(({ record }) => textOf(get(record, 'referenceId')))
    const referenceId = references.find((each) => shown.includes(each))
    return referenceId === undefined ? prepared : { ...prepared, body: { ...prepared.body, referenceId } }
  },

  async verify(delivery, sent) {
    const newest = await newestOf(delivery, sent.body)
    return await ownAmong(delivery, sent, await inFull(delivery, sent, newest))
  },

  decide(write, sent, found, timeZone) {
    const { departure = null } = sent.evidence
    const alike = byIdentity(write, sent, timeZone)
    /** The look-up filtered by boat only; the departure is that of the slot. */
    const departs = (record: Json): Likeness => {
      const shown = textOf(get(record, 'departureDatetime'))
      return departure === null || shown === undefined ? 'unsaid' : instantsAlike(departure, shown, timeZone)
    }
    return theNewOne(found ?? [], sent, {
      what: 'rentals',
      showsAll: reachesBack(found ?? [], sent, timeZone),
      likenessOf: (record) => (departs(record) === 'differs' ? 'differs' : alike.likenessOf(record)),
      isAnother: (record) => departs(record) === 'differs',
    })
  },

  async finish(delivery, sent, effect) {
    const seen = effect.seen ?? answered(delivery, effect)
    const outcome = finishMaking(delivery, sent, { ...effect, seen })
    if (outcome.kind !== 'done' || seen === null) return outcome
    return { ...outcome, mirror: { ...outcome.mirror, filled: [await filled(delivery, outcome, sent, seen)] } }
  },

  readBack: readRecord,
}
