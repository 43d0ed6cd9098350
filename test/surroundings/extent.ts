// How much of a group runs: all of it with `npm run surroundings`, a slice with `npm test`.

/** True with `npm run surroundings`. */
export const isFull = process.env.SURROUNDINGS === 'full'

/** Days and years that make a first sync short, for groups that are not about calendars and prices. */
export const ranges = { PRICE_DAYS: '3', SLOT_DAYS: '1', CALENDAR_YEARS: '0' } as const
