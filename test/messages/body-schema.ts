// The JSON Schema of a webhook's body, as docs/feed.md shows it, held to bodies that were sent.

import { readFileSync } from 'node:fs'
import { Check, Errors } from 'typebox/schema'
import { expect } from 'vitest'

const document = readFileSync(new URL('../../docs/feed.md', import.meta.url), 'utf8')
const [, text = ''] = /<!-- webhook-schema -->\n```json\n([\s\S]*?)```/.exec(document) ?? []

export const bodySchema = JSON.parse(text)

/** Names of the members that a schema of an object knows, and those that it demands. */
const membersOf = ({ properties, required }: { properties: object; required: readonly string[] }) => ({
  known: Object.keys(properties).sort(),
  needed: [...required].sort(),
})

/** Expects a body to be what the document says, with the members that it names and no other. */
export function expectDocumented(body: string): void {
  const value = JSON.parse(body)
  expect(Check(bodySchema, value) ? [] : Errors(bodySchema, value)[1]).toEqual([])
  const change = bodySchema.properties.data.properties.changes.items
  const levels = [
    [value, bodySchema],
    [value.data, bodySchema.properties.data],
    ...value.data.changes.map((each: object) => [each, change]),
  ] as const
  for (const [object, schema] of levels) {
    const members = Object.keys(object).sort()
    expect(membersOf(schema)).toEqual({ known: members, needed: members })
  }
}
