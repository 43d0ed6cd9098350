// The write operations, gathered from the streams they stand with.

import { type StreamLiteral, streams, withAncestors } from './catalog.ts'
import type { WriteDef } from './types.ts'

/** A write operation with its literal types. */
export type WriteLiteral = Extract<StreamLiteral, { readonly writes: readonly unknown[] }>['writes'][number]

/** The name of a write operation. */
export type Operation = WriteLiteral['operation']

/** The path parameters of an endpoint: `rentalId` of `DELETE /v3/rentals/{rentalId}`. */
export type ParamOf<Endpoint extends string> = Endpoint extends `${string}{${infer Param}}${infer Rest}`
  ? Param | ParamOf<Rest>
  : never

/** All write operations, in the order of their streams. Whatever a path names has a number. */
export const writes: readonly WriteDef[] = streams.flatMap((stream) => {
  const aggregate = withAncestors(stream)[0]?.aggregate
  if (aggregate === undefined || stream.writes === undefined) return []
  return stream.writes.map((write) => {
    const params = Array.from(write.endpoint.matchAll(/\{(\w+)\}/g), ([, param = '']) => [param, 'integer'] as const)
    return { ...write, stream: stream.name, aggregate, target: Object.fromEntries(params) }
  })
})

/** The operation whose result may replace a path parameter, as `{"change": n}`: the one that creates the record. */
export const targetResults: Readonly<Record<string, string>> = Object.fromEntries(
  streams.flatMap(({ reads, writes: own = [] }) => {
    const maker = own.find(({ kind }) => kind === 'create' || kind === 'add')
    const single = 'single' in reads && typeof reads.single === 'object' ? reads.single : undefined
    return maker === undefined || single === undefined ? [] : [[single.param, maker.operation]]
  }),
)

const byOperation = new Map(writes.map((write) => [write.operation, write]))

/** The operation of this name. @throws Error when the catalog has none: a slip in our own code. */
export function writeNamed(operation: string): WriteDef {
  const write = byOperation.get(operation)
  if (write === undefined) throw new Error(`The catalog has no operation ${operation}.`)
  return write
}
