// `privacy`: what is kept of personal data and where; what is held about one person, and how to erase it.

import type { Database } from '../../database/database.ts'
import { BoatMirrorError } from '../../errors.ts'
import { count, counted, instant } from '../../format.ts'
import { mirrorErasures } from '../../mirror/erasures.ts'
import { crewOf, erasePerson, exportPerson, unerasePerson } from '../../mirror/persons.ts'
import { outboxErasures } from '../../outbox/personal.ts'
import { type ApplyOptions, applySettings, type Erasure, previewSettings } from '../../privacy/apply.ts'
import { actionOf, personalColumns, privacySettings } from '../../privacy/rules.ts'
import { differenceOf, readErased, readStored } from '../../privacy/stored.ts'
import { createRequest } from '../../sync/due/requests.ts'
import { streamsToSync } from '../../sync/plan.ts'
import { asOwner, type CommandContext, type Json } from '../context.ts'
import { print, printJson, printNote, printText, table, tell } from '../terminal/output.ts'

const changing = <T>(context: CommandContext, change: (database: Database) => Promise<T>): Promise<T> =>
  asOwner(context, { name: 'privacy', statementTimeoutMs: 0 }, change)

const kept = { keep: 'value', hash: 'hash', drop: 'nothing' } as const

/** Says what the database holds of each personal column, and whether these settings are its own. */
export async function runPrivacy(context: CommandContext, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const { pool } = opened.database
  const settings = privacySettings(context.config)
  const stored = await readStored(pool)
  const { users, crew } = await readErased(pool)
  const columns = [...personalColumns].map(([name, { stream, column }]) => {
    const action = actionOf({ ...stored, hasher: null }, stream, column)
    return { column: name, stored: action }
  })
  const difference = differenceOf(stored, settings)
  const facts = {
    mode: stored.mode,
    columns,
    keyFingerprint: stored.fingerprint,
    setAt: stored.setAt,
    erased: { users: users.size, crewMembers: crew.size },
    difference,
  }
  if (json) return printJson(facts)
  print(
    table(
      ['COLUMN', 'STORED'],
      columns.map((each) => [each.column, kept[each.stored]]),
    ),
  )
  print(`\nPERSONAL_DATA is ${stored.mode}${stored.setAt === null ? '' : `, since ${instant(stored.setAt)}`}.`)
  print('The same applies to copies in payloads, change log, quarantine, feed and outbox.')
  if (users.size + crew.size > 0) print(`Erased: ${counted(users.size, 'user')}, ${counted(crew.size, 'crew member')}.`)
  if (difference !== null)
    printText(
      `Your settings differ, so no worker starts with them: ${difference}. Apply them with: boat-mirror privacy apply`,
    )
  if (stored.isApplying)
    printText('`privacy apply` has not finished, so no worker starts. Run it again: boat-mirror privacy apply')
}

/** All tables that can hold a person. A test fails when one is missing. */
export const erasures: readonly Erasure[] = [...mirrorErasures, ...outboxErasures]

/** Erases what is stored under other settings than those of this process, or counts it. */
export async function runApply(
  context: CommandContext,
  { dryRun, json }: Json & { readonly dryRun: boolean },
): Promise<void> {
  const { config, log } = context
  const options: ApplyOptions = {
    settings: privacySettings(config),
    erasures,
    requestSync: (client) =>
      createRequest(client, { trigger: 'command', streams: streamsToSync([], config), full: false }),
    onTable: (table, rows) => tell(log, 'privacy_applied', `${table}: ${count(rows)} rows`),
  }
  const applied = await changing(context, (database) =>
    dryRun ? previewSettings(database, { ...options, onTable: () => {} }) : applySettings(database, options),
  )
  if (json) return printJson({ dryRun, ...applied })
  const { rows, difference } = applied
  if (difference !== null) print(`Difference: ${difference}.`)
  const tables = Object.entries(rows)
  if (tables.length > 0)
    print(
      table(
        ['TABLE', dryRun ? 'ROWS TO ERASE' : 'ROWS ERASED'],
        tables.map(([name, changed]) => [name, count(changed)]),
      ),
    )
  if (difference === null && tables.length === 0)
    return print('Nothing to change: the stored data matches your settings.')
  print(
    dryRun
      ? 'Nothing was changed. What is erased is read again from the API.'
      : 'Personal values are erased. Start the workers again: the next sync reads them again from the API.',
  )
  printNote(elsewhere)
}

/** Copies that only the operator can clean. */
const elsewhere =
  'Backups, WAL archives, replicas that lag and your own copies keep the former values until you expire them. A transaction that ' +
  'started before keeps former versions of rows. The disk may hold them until they are overwritten (VACUUM FULL).'

export async function runExport(context: CommandContext, userId: string): Promise<void> {
  await using opened = await context.openDatabase()
  printJson(await exportPerson(opened.database.pool, userId))
}

export async function runErase(
  context: CommandContext,
  userId: string,
  { crew: withCrew, json }: Json & { readonly crew: boolean },
): Promise<void> {
  const { crew, left } = await changing(context, (database) =>
    database.transaction(async (db) => {
      const erased = await erasePerson(db, userId, withCrew)
      return { crew: erased.crew, left: (await crewOf(db, userId)).filter((member) => !member.erased) }
    }),
  )
  if (json) return printJson({ userId, crewErased: crew, crewLeft: left.map(({ rentalId, id }) => ({ rentalId, id })) })
  print(`User ${userId} is erased. Only the key of each row is kept, also after the next read.`)
  if (crew > 0) print(`Erased crew members: ${crew}.`)
  if (left.length > 0) {
    print(
      table(
        ['RENTAL', 'CREW MEMBER'],
        left.map((each) => [each.rentalId, each.id]),
      ),
    )
    printNote(
      `The crew of this user's rentals is not erased. To erase it too, run: boat-mirror privacy erase ${userId} --crew`,
    )
  }
}

export async function runUnerase(context: CommandContext, userId: string, { json }: Json): Promise<void> {
  if (!(await changing(context, (database) => database.transaction((db) => unerasePerson(db, userId)))))
    throw new BoatMirrorError('NOT_FOUND', `User ${userId} is not erased.`)
  if (json) return printJson({ userId, erased: false })
  printText(`User ${userId} is no longer erased. The next sync reads them again: boat-mirror sync --full users rentals`)
}
