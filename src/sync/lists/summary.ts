// Is a list record only a summary of the single one, and how are the two put together? Pure.

import { isObject, type Json } from '../../api/wire/json.ts'

/** Dotted paths of members that the single has and the list record lacks. Members that are null count as absent. */
export function missingInList(listed: Json, single: Json, prefix = ''): readonly string[] {
  if (!isObject(single) || !isObject(listed)) return []
  return Object.entries(single).flatMap(([name, value]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const own = Object.hasOwn(listed, name) ? listed[name] : undefined
    if (own === undefined) return value === null ? [] : [path]
    return missingInList(own, value, path)
  })
}

/** Lays a summary over what the detail said: what the summary names wins, what it leaves out stays. */
export function overlay(detail: Json | undefined, summary: Json): Json {
  if (!isObject(detail) || !isObject(summary)) return summary
  const merged: { [key: string]: Json } = Object.create(null)
  for (const [name, value] of Object.entries(detail)) merged[name] = value
  for (const [name, value] of Object.entries(summary))
    merged[name] = name in merged ? overlay(merged[name], value) : value
  return { ...merged }
}
