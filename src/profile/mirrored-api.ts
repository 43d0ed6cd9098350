// sync.settings.api: the API that this mirror is of. Another one has other records under the same ids, so nothing that was
// queued for the one may reach the other.

import type { Config } from '../config.ts'
import type { Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'

type Settings = Partial<Pick<Config, 'databaseUrl' | 'dataDir'>> & { readonly api: Pick<Config['api'], 'baseUrl'> }
type Moved = Readonly<Record<'before' | 'after', string | null>>

const sandbox = 'sandbox'

/** One name for all spellings of an address, without credentials. @param address null: the built-in sandbox, on any port */
export function apiName(address: string | null): string {
  if (address === null) return sandbox
  const { origin, pathname } = new URL(address)
  return `${origin}${pathname}`.toLowerCase().replace(/\/+$/, '')
}

/** Reads which API filled this mirror; null: it is empty, or an earlier version filled it. */
export async function mirroredApi(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ api: string | null }>('select api from sync.settings')
  return rows[0]?.api ?? null
}

/** Why the configured API may not be asked: the mirror is of another one; null: it may. */
export function apiRefusal(mirrored: string | null, { api, databaseUrl, dataDir }: Settings): BoatMirrorError | null {
  const here = apiName(api.baseUrl)
  if (mirrored === null || mirrored === here) return null
  const [isTrial, isSet] = [mirrored === sandbox, here !== sandbox]
  const data = isTrial ? 'the made-up data of the built-in sandbox' : `the data of ${mirrored}`
  const set = isSet ? here : 'not set, which stands for the built-in sandbox'
  const drop = isTrial ? `, or stop all commands and delete ${dataDir}` : ''
  const folder = databaseUrl === null ? ` or DATA_DIR to another folder${drop}` : ''
  const moved = isSet ? 'If it is the same API at a new address, run: boat-mirror moved api' : 'Or set API_BASE_URL.'
  return new BoatMirrorError('API_CHANGED', `The database holds ${data}, and API_BASE_URL is ${set}.`, {
    remedy: `Set DATABASE_URL to another database${folder}. ${moved}`,
  })
}

/** Settings that were found to name the API of their database. */
const bound = new WeakSet<Settings>()

/**
 * Makes the mirror one of this API, in a transaction that writes what it answered. Waits for no other transaction that does.
 * @throws BoatMirrorError API_CHANGED when another process was faster with another API
 */
export async function bindApi(client: Queryable, settings: Settings): Promise<void> {
  if (bound.has(settings)) return
  const mirrored = await mirroredApi(client)
  const refusal = apiRefusal(mirrored, settings)
  if (refusal !== null) throw refusal
  if (mirrored !== null) bound.add(settings)
  else
    await client.query(
      `update sync.settings set api = $1
       where only_row = (select only_row from sync.settings where api is null for update skip locked)`,
      [apiName(settings.api.baseUrl)],
    )
}

/** Says that the API has this address now. @returns undefined where it had it before */
export async function moveApi(db: Queryable, address: string): Promise<Moved | undefined> {
  const { rows } = await db.query<Moved>(
    `update sync.settings s set api = $1 from sync.settings former where s.api is distinct from $1
     returning former.api as before, s.api as after`,
    [apiName(address)],
  )
  return rows[0]
}
