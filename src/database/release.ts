// The order of releases: an older program must not take back what a newer one made of the schema.

import { BoatMirrorError } from '../errors.ts'

/**
 * `number` grows by one with every change of the schema, also over a new baseline; `schema` is the schema that it stands for.
 * test/schema/release.test.ts compares the two, and says what to write here.
 */
export const release = { number: 56, schema: '46d5d136efe834e5' }

/** The release that applied a version of the repeatable steps, `NUMBER.HASH`; 0: one from before the numbers. */
const numberOf = (version: string | null): number => Number(/^(\d+)\./.exec(version ?? '')?.[1] ?? 0)

/** The release that a version belongs to, if it is newer than this program. */
export const newerRelease = (version: string | null): readonly string[] =>
  numberOf(version) > release.number ? [`release ${numberOf(version)}`] : []

/** The refusal to work on the schema of a newer program; of kind `abort` for one that already works. */
export const newerProgram = (what: readonly string[], kind: 'fatal' | 'abort' = 'fatal'): BoatMirrorError =>
  new BoatMirrorError('DATABASE_SCHEMA', `The database was migrated by a newer program (${what.join(', ')}).`, {
    remedy: 'Use the newer version of boat-mirror with this database.',
    kind,
  })
