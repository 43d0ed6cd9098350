// What holds of one record type only is said in its catalog object. Elsewhere nothing is decided by a stream's name: no
// comparison, no case, no table of names. Views of reports and the sandbox are about named tables and stay out.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { parseAst } from 'vitest/node'
import { streams } from '../../src/catalog/catalog.ts'
import { projectRoot, readImports } from '../helpers/import-graph.ts'

const names = new Set(streams.map((stream) => stream.name))

type Node = { readonly type: string; readonly [member: string]: unknown }
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

const nameIn = (value: unknown): string | undefined => {
  const node = isNode(value) ? value : undefined
  const text = node?.type === 'Literal' ? node.value : node?.type === 'Identifier' ? node.name : undefined
  return typeof text === 'string' && names.has(text) ? text : undefined
}
const literalIn = (value: unknown): string | undefined =>
  isNode(value) && value.type === 'Literal' ? nameIn(value) : undefined

/** Names of streams that a node itself decides by. */
function decidedBy(node: Node): readonly (string | undefined)[] {
  switch (node.type) {
    case 'BinaryExpression':
      return /^[!=]==?$/.test(String(node.operator)) ? [literalIn(node.left), literalIn(node.right)] : []
    case 'SwitchCase':
      return [literalIn(node.test)]
    case 'ArrayExpression':
      return (node.elements as unknown[]).map(literalIn)
    case 'ObjectExpression': {
      // A single key such as `types` may be a word of another library's.
      const keys = (node.properties as Node[])
        .map((property) => nameIn(property.key))
        .filter((key) => key !== undefined)
      return keys.length > 1 || keys.some((key) => key.includes('_')) ? keys : []
    }
    case 'CallExpression': {
      const { callee, arguments: given } = node as unknown as { callee: Node; arguments: unknown[] }
      const method = isNode(callee.property) ? String(callee.property.name) : ''
      if (!/^(startsWith|endsWith|includes|has|get)$/.test(method)) return []
      const part = isNode(given[0]) && given[0].type === 'Literal' ? String(given[0].value) : ''
      return part.length > 3 ? [...names].filter((name) => name.startsWith(part) || name.endsWith(part)) : []
    }
    default:
      return []
  }
}

async function decisions(code: string): Promise<readonly string[]> {
  const found: string[] = []
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk)
    if (!isNode(value)) return
    found.push(...decidedBy(value).filter((name) => name !== undefined))
    Object.values(value).forEach(walk)
  }
  walk(parseAst((await transform(code, { loader: 'ts' })).code))
  return found
}

describe('a decision by the name of a stream', () => {
  const { files } = readImports(projectRoot, ['src'])
  const searched = files.filter((file) => !/^src\/(catalog|sandbox|cli\/sandbox|reports)\//.test(file))

  it('is made in the catalog only', async () => {
    expect(searched.length).toBeGreaterThan(100)
    const found = await Promise.all(
      searched.map(async (file) => {
        const each = await decisions(readFileSync(join(projectRoot, file), 'utf8'))
        return each.map((name) => `${file}: ${name}`)
      }),
    )
    expect(found.flat()).toEqual([])
  })

  for (const code of [
    "if (stream.name === 'rentals') go()",
    "const isUser = 'users' != write.stream",
    "switch (stream) { case 'resource_slots': go() }",
    "const aggregates = { rentals: 'rental', users: 'user' }",
    "const paths: Readonly<Record<string, string>> = { rental_options: 'option' }",
    "const own = new Set(['users'])",
    "if (name.startsWith('resource_slot')) go()",
    "if (stream.parent?.includes('rentals')) go()",
  ])
    it(`is found in: ${code}`, async () => {
      expect(await decisions(code)).not.toEqual([])
    })

  for (const code of [
    "const users = streamNamed('users')",
    'const sql = `select id from mirror.rentals where id = $1`',
    'const client = new pg.Client({ types: parsers })',
    "if (reads.kind === 'list') go()",
  ])
    it(`is not found in: ${code}`, async () => {
      expect(await decisions(code)).toEqual([])
    })
})
