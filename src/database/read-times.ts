// Reading times in SQL: none is stored later than the database's own clock, and one that is later all the same (that clock
// was set back, or an older version wrote it) says nothing, or every later read would be dropped as older. Pure.

const now = 'statement_timestamp()'

/** A reading time that was told from outside, as it may be stored; null (never read) stays null, which `least` would make now. */
export const toldRead = (expression: string): string =>
  `case when ${expression} > ${now} then ${now} else ${expression} end`

/** True for a row whose reading time lies ahead of the database's clock. */
export const isReadAhead = (row: string): string => `${row}._read_at > ${now}`

/** When a stored row was read, for a comparison with a later read. */
export const knownRead = (row: string): string =>
  `case when ${isReadAhead(row)} then '-infinity' else ${row}._read_at end`
