// How much of a group runs: all of it with `npm run surroundings`, a slice with `npm test`. What a slice omits goes the
// same way through the program as what is in it, in other clothes (another refusal, another place in the answer, another kind of
// pooler), or takes a minute of its own.

/** True with `npm run surroundings`. */
export const isFull = process.env.SURROUNDINGS === 'full'

/** Days and years that make a first sync short in a slice, for groups that are not about calendars and prices. */
export const ranges: Readonly<Record<string, string>> = isFull
  ? {}
  : { PRICE_DAYS: '3', SLOT_DAYS: '1', CALENDAR_YEARS: '1' }
