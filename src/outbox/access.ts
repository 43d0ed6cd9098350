// Whether a 403 is about one record or the account: an account that may not write may still be allowed to read.

import { concernsAccount } from '../api/retry.ts'
import { ApiError } from '../errors.ts'
import { resolveTarget } from './change.ts'
import type { Delivery } from './kinds/kind.ts'
import { isAbsent, rootOf } from './reads.ts'

/**
 * Whether the API answers this account, by a read of the rental or user, else of the first of their list. Where one of them
 * answers, a 403 was the refusal of one request.
 * @throws ApiError when neither answers, and not because of the account.
 */
export async function answersAccount({ context, change, signal }: Delivery): Promise<boolean> {
  const { api, settings } = context
  const { endpoint, param, stream } = rootOf(change.write)
  const params = resolveTarget(change.target, change.results) ?? {}
  const asked = { priority: 'write', signal } as const
  if (Object.hasOwn(params, param) && (await isAnswered(api.read({ ...asked, endpoint, params })))) return true
  if (stream.reads.kind !== 'list') return false
  const query = { [settings.api.paging.sizeParam]: '1' }
  return await isAnswered(api.read({ ...asked, endpoint: stream.reads.list, query, provesAccess: true }))
}

async function isAnswered(read: Promise<unknown>): Promise<boolean> {
  try {
    await read
    return true
  } catch (error) {
    if (isAbsent(error)) return true
    if (error instanceof ApiError && (error.status === 403 || concernsAccount(error))) return false
    throw error
  }
}
