// Answers of 2xx whose body says that the request failed. Pure; the API's papers name none, other servers and the proxies in
// between send them.

import { get, isObject, type Json, textOf } from './json.ts'

const failedWords: ReadonlySet<string> = new Set(['error', 'fail', 'failed', 'failure'])

/** Does this value say anything at all? */
const isFilled = (value: Json | undefined): boolean => {
  if (value === undefined || value === null || value === false || value === '' || value === 0) return false
  if (Array.isArray(value)) return value.length > 0
  return !isObject(value) || Object.keys(value).length > 0
}

/**
 * Why a body reports a failed request: `success: false`. Undefined: it does not. Not for records, whose own fields
 * may have this name.
 */
export function errorIn(body: Json | undefined): string | undefined {
  if (!isObject(body)) return undefined
  for (const name of ['success', 'ok']) if (get(body, name) === false) return `${name}: false`
  for (const name of ['error', 'errors']) if (isFilled(get(body, name))) return `a member "${name}"`
  for (const name of ['status', 'statusCode']) {
    const value = textOf(get(body, name))
    if (value !== undefined && (failedWords.has(value.toLowerCase()) || /^[45]\d\d$/.test(value)))
      return `${name}: ${value}`
  }
  return undefined
}
