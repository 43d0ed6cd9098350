// As whom Postgres runs. It refuses to run as root, so root hands it to an unprivileged account of the system;
// no account is created.

import { readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { unavailable, unlessMissing } from './failures.ts'

/** An account to run Postgres as; null stands for the account of this process. */
export type Identity = { readonly name: string; readonly uid: number; readonly gid: number } | null

type Owner = { readonly uid: number; readonly gid: number; readonly mode: number }

/** Accounts that exist for this purpose, best first. */
const preferred = ['postgres', '_postgres', 'nobody', 'daemon']

/** Reads lines of /etc/passwd. Skips invalid lines. */
export function parsePasswd(text: string): NonNullable<Identity>[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    if (!name || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '')) return []
    return [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}

/**
 * The account Postgres may run as: a preferred one, else any other system account; never root, never a human user's.
 */
export function pickAccount(accounts: readonly NonNullable<Identity>[]): Identity {
  const byName = preferred.map((name) => accounts.find((account) => account.name === name && account.uid !== 0))
  return byName.find((account) => account !== undefined) ?? accounts.find(({ uid }) => uid > 0 && uid < 1000) ?? null
}

/**
 * Chooses the account for a database folder: for root the owner of an existing one, else an unprivileged account.
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE when there is none, or the folder belongs to another user.
 */
export async function chooseIdentity(cluster: string): Promise<Identity> {
  const uid = process.getuid?.()
  if (uid === undefined) return null
  const owner = await unlessMissing(stat(cluster))
  if (uid !== 0) {
    if (owner === null || owner.uid === uid) return null
    throw unavailable(`The database in ${cluster} belongs to user ${owner.uid}, and this is user ${uid}`, 'Run as root')
  }
  const accounts = parsePasswd(await readFile('/etc/passwd', 'utf8').catch(() => ''))
  if (owner !== null && owner.uid !== 0) {
    const known = accounts.find((account) => account.uid === owner.uid)
    return known ?? { name: `user ${owner.uid}`, uid: owner.uid, gid: owner.gid }
  }
  const account = pickAccount(accounts)
  if (account !== null) return account
  throw unavailable(
    'Postgres refuses to run as root, and this system has no unprivileged account to run it as',
    'Start as another user than root, add an account named postgres',
  )
}

/** True when the account may pass through the folder and everything above it (mode bits; the process has no further groups). */
export async function canEnter(folder: string, identity: Identity): Promise<boolean> {
  if (identity === null) return true
  for (let current = folder; ; current = dirname(current)) {
    if (!mayPass(await stat(current), identity)) return false
    if (current === dirname(current)) return true
  }
}

/** True when these mode bits let the account pass through a folder. */
export function mayPass(owner: Owner, identity: NonNullable<Identity>): boolean {
  if (owner.uid === identity.uid) return (owner.mode & 0o100) !== 0
  if (owner.gid === identity.gid) return (owner.mode & 0o010) !== 0
  return (owner.mode & 0o001) !== 0
}
