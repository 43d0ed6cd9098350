// The catalog: all streams in the order in which they are read and written.

import { BoatMirrorError } from '../errors.ts'
import { meant } from '../near-names.ts'
import {
  resourceAvailability,
  resourceAvailabilityYears,
  resourceSlotOptions,
  resourceSlots,
  resourceSlotTides,
  resourceUnavailabilities,
} from './availability.ts'
import { companies } from './companies.ts'
import { referenceStreams } from './reference-data.ts'
import { rentalCrewMembers, rentalOptions, rentalPayments } from './rental-parts.ts'
import { rentalResources, rentals } from './rentals.ts'
import {
  resourceCharacteristics,
  resourceDurations,
  resourceEquipments,
  resourceOptions,
  resourcePricetable,
  resourcePricings,
  resources,
} from './resources.ts'
import type { ListWindows, ReadEndpoint, SingleRead, StreamDef } from './types.ts'
import { userIdentities, userLicenses, users } from './users.ts'

const catalog = [
  ...referenceStreams,
  companies,
  resources,
  resourceCharacteristics,
  resourceEquipments,
  resourceDurations,
  resourceOptions,
  resourcePricetable,
  resourcePricings,
  resourceAvailabilityYears,
  resourceUnavailabilities,
  resourceAvailability,
  resourceSlots,
  resourceSlotOptions,
  resourceSlotTides,
  users,
  userIdentities,
  userLicenses,
  rentals,
  rentalResources,
  rentalOptions,
  rentalPayments,
  rentalCrewMembers,
] as const

/** A stream with its literal types, from which the types of commands derive. */
export type StreamLiteral = (typeof catalog)[number]

/** All streams; a parent comes before the streams below it. */
export const streams: readonly StreamDef[] = catalog

const byName = new Map(streams.map((stream) => [stream.name, stream]))

/** The stream of this name, if there is one. */
export const findStream = (name: string): StreamDef | undefined => byName.get(name)

/** The stream of this name. @throws Error when the catalog has none: a slip in our own code. */
export function streamNamed(name: string): StreamDef {
  const stream = byName.get(name)
  if (stream === undefined) throw new Error(`The catalog has no stream ${name}.`)
  return stream
}

/** The stream of this name. @throws BoatMirrorError USAGE when it does not exist. */
export function existingStream(name: string): StreamDef {
  const stream = byName.get(name)
  if (stream !== undefined) return stream
  const names = [...byName.keys()]
  throw new BoatMirrorError('USAGE', `There is no stream "${name}"${meant(name, names)}.`, {
    remedy: `Streams are named after their tables: ${names.join(', ')}.`,
  })
}

/** The read endpoints of one stream, lists before singles. */
export function readsOf(stream: StreamDef): readonly ReadEndpoint[] {
  const { reads } = stream
  switch (reads.kind) {
    case 'list':
      return [reads.list, reads.single.endpoint, ...(reads.related ?? []).map((related) => related.endpoint)]
    case 'collection':
      return reads.single === undefined ? [reads.list] : [reads.list, reads.single.endpoint]
    case 'document':
    case 'pricetable':
    case 'calendar':
      return [reads.endpoint]
    case 'availability':
      return [reads.batch, reads.single]
    case 'slots':
      return [reads.list]
    case 'inside':
      return []
    default:
      return reads satisfies never
  }
}

/** The parts of a list that hot runs read; undefined where there are none. */
export const windowsOf = ({ reads }: StreamDef): ListWindows | undefined =>
  reads.kind === 'list' ? reads.windows : undefined

/** The reads of one stream that repeat others, its single first. */
export function repeatsOf({ reads }: StreamDef): readonly Pick<SingleRead, 'endpoint' | 'repeats'>[] {
  if ((reads.kind !== 'list' && reads.kind !== 'collection') || reads.single === undefined) return []
  return reads.kind === 'list' ? [reads.single, ...(reads.related ?? [])] : [reads.single]
}

/** Those of them that are made with the details of a record: of a list all but its single. */
export const repeatsWithin = (stream: StreamDef): ReturnType<typeof repeatsOf> =>
  repeatsOf(stream).slice(stream.reads.kind === 'list' ? 1 : 0)

/** All read endpoints, in catalog order. */
export const readEndpoints: readonly ReadEndpoint[] = streams.flatMap(readsOf)

/** The stream that this one hangs below, if any. */
export const parentOf = ({ parent }: StreamDef): StreamDef | undefined =>
  parent === undefined ? undefined : streamNamed(parent)

/** The streams directly below a stream. */
export const childrenOf = (name: string): readonly StreamDef[] => streams.filter((stream) => stream.parent === name)

/** The streams below a stream, at any depth, parents first. */
export function descendantsOf(name: string): readonly StreamDef[] {
  return childrenOf(name).flatMap((child) => [child, ...descendantsOf(child.name)])
}

/** The stream and all above it, topmost first: what must be read so that this one is right. */
export function withAncestors(stream: StreamDef): readonly StreamDef[] {
  const parent = parentOf(stream)
  return parent === undefined ? [stream] : [...withAncestors(parent), stream]
}

/** Is a turn of this stream worth a run only where details are due? */
export const isDetailOnSchedule = ({ freshness, scheduledAs }: StreamDef): boolean =>
  freshness === 'detail' || scheduledAs === 'detail'

/** What a change of a stream's rows makes due: details below them, and what names them or the rows they fill in `dueBy`. */
export function followersOf(name: string): { readonly details: readonly string[]; readonly hot: readonly string[] } {
  const details = childrenOf(name).filter((child) => child.reads.kind !== 'inside' && isDetailOnSchedule(child))
  const filled = streams.filter(({ filledBy }) => filledBy?.stream === name).map((stream) => stream.name)
  const hot = streams.filter(({ dueBy }) => dueBy !== undefined && [name, ...filled].includes(dueBy.stream))
  return { details: details.map((stream) => stream.name), hot: hot.map((stream) => stream.name) }
}

/** The streams that rows of this one make due, by the column that says below which record. */
export function followersByColumn(
  name: string,
): readonly { readonly column: string; readonly names: readonly string[] }[] {
  const followers = streams.filter(({ dueBy }) => dueBy?.stream === name)
  return [...new Set(followers.map(({ dueBy }) => dueBy?.column ?? ''))].map((column) => ({
    column,
    names: followers.filter(({ dueBy }) => dueBy?.column === column).map((stream) => stream.name),
  }))
}

/** Columns of a stream that repeat values of another stream's record: a rental's company is that of its boat. */
export type CopiedColumns = {
  /** The stream of the records that are copied from. */
  readonly source: StreamDef
  /** The column that names that record, by its key. */
  readonly link: string
  /** `column` repeats `from`, which the record shows in its member `member`. */
  readonly columns: readonly { readonly column: string; readonly from: string; readonly member: string }[]
}

/** What a stream copies from another one; undefined: nothing. */
export function copiedColumns({ filledBy }: StreamDef): CopiedColumns | undefined {
  const [link, ...copies] = filledBy?.columns ?? []
  if (link === undefined || filledBy?.filter === undefined) return undefined
  const source = streamNamed(filledBy.filter.stream)
  const columns = copies.flatMap(({ column, from }) => {
    const path = source.columns.find(({ name }) => name === from)?.path
    return from === undefined || path === undefined || path === null
      ? []
      : [{ column, from, member: path.split('.')[0] ?? '' }]
  })
  return { source, link: link.column, columns }
}

/** The person that a record embeds: the rental's user. */
export type EmbeddedPerson = {
  /** Their path in the record. */
  readonly path: string
  /** The column with their id. */
  readonly column: string
  /** What else in the record is theirs: columns and top-level fields. */
  readonly texts: readonly { readonly column: string; readonly field: string }[]
}

/** The person that records of this stream embed, if they do. */
export function embeddedPerson({ embeds, columns }: StreamDef): EmbeddedPerson | undefined {
  const path = embeds?.find((embed) => streamNamed(embed.stream).person)?.path
  if (path === undefined) return undefined
  const texts = columns
    .filter((column) => column.personal)
    .map(({ name, path: field }) => ({ column: name, field: field ?? name }))
  return { path, column: columns.find((column) => column.path === `${path}.id`)?.name ?? '', texts }
}

/** True for persons and the streams below them, which belong to no company. */
export const isOfPerson = (stream: StreamDef): boolean => withAncestors(stream)[0]?.person === true

/** The columns that hold data about a person. */
export const personalColumns = ({ columns }: StreamDef): readonly string[] =>
  columns.flatMap(({ name, personal }) => (personal === true ? [name] : []))

/** True when a record of this stream contains data about a person: not all readers may see its payload. */
export const holdsPerson = (stream: StreamDef): boolean =>
  stream.person === true ||
  stream.document === true ||
  stream.columns.some(({ personal }) => personal === true) ||
  embeddedPerson(stream) !== undefined

/** The stream that names the company of a stream's rows: itself, or one above it. */
export const companyStreamOf = (stream: StreamDef): StreamDef | undefined =>
  withAncestors(stream).find(({ companyColumn }) => companyColumn !== undefined)
