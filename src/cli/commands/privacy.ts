// `privacy`: what is kept of personal data and where; what is held about one person, and how to erase it.

import { type Database, openDatabase } from '../../database/database.ts'
import type { Queryable } from '../../database/sql.ts'
import { BoatMirrorError } from '../../errors.ts'
import { instant } from '../../format.ts'
import { crewOf, erasePerson, exportPerson, unerasePerson } from '../../mirror/persons.ts'
import { actionOf, personalColumns, privacySettings } from '../../state/privacy/rules.ts'
import { differenceOf, readErased, readStored } from '../../state/privacy/stored.ts'
import type { CommandContext, Json } from '../context.ts'
import { print, printJson, printNote, printText, table } from '../terminal/output.ts'

/** Runs in one transaction past a pooler, as who owns the tables. */
async function changing<T>(context: CommandContext, change: (db: Queryable) => Promise<T>): Promise<T> {
  await using opened = await context.openDatabase()
  const database: Database = openDatabase({
    url: opened.directUrl,
    applicationName: 'boat-mirror privacy',
    max: 1,
    log: context.log,
    statementTimeoutMs: 0,
  })
  try {
    return await database.transaction(change)
  } finally {
    await database.close()
  }
}

const kept = { keep: 'as it came', hash: 'hash', drop: 'nothing' } as const

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
  print('The same holds for copies in payloads, change log, quarantine, feed and outbox.')
  if (users.size + crew.size > 0) print(`Erased: ${users.size} users, ${crew.size} crew members.`)
  if (difference !== null) printText(`These settings differ, so no worker starts with them: ${difference}.`)
}

/** Prints all that is held about a user, as JSON. */
export async function runExport(context: CommandContext, userId: string): Promise<void> {
  await using opened = await context.openDatabase()
  printJson(await exportPerson(opened.database.pool, userId))
}

export async function runErase(
  context: CommandContext,
  userId: string,
  { crew: withCrew, json }: Json & { readonly crew: boolean },
): Promise<void> {
  const { crew, left } = await changing(context, async (db) => {
    const erased = await erasePerson(db, userId, withCrew)
    return { crew: erased.crew, left: await crewOf(db, userId) }
  })
  if (json) return printJson({ userId, crewErased: crew, crewLeft: left })
  print(`User ${userId} is erased: of every row only the key is kept, also when it is read again.`)
  if (crew > 0) print(`Erased crew members: ${crew}.`)
  if (left.length > 0) {
    print(
      table(
        ['RENTAL', 'CREW MEMBER'],
        left.map((each) => [each.rentalId, each.id]),
      ),
    )
    printNote(
      `The crew of this user's rentals is still there. If they are to be erased, run: boat-mirror privacy erase ${userId} --crew`,
    )
  }
}

export async function runUnerase(context: CommandContext, userId: string, { json }: Json): Promise<void> {
  if (!(await changing(context, (db) => unerasePerson(db, userId))))
    throw new BoatMirrorError('NOT_FOUND', `User ${userId} is not erased.`)
  if (json) return printJson({ userId, erased: false })
  print(`User ${userId} is no longer erased. The next sync reads them again: boat-mirror sync --full users rentals`)
}
