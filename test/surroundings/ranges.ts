// What a slice of a group omits (`isFull`) goes the same way through the program as what is in it, in other clothes (another
// refusal, another place in the answer, another kind of pooler), or takes a minute of its own.

import { isFull } from '../helpers/extent.ts'

/** Days and years that make a first sync short in a slice, for groups that are not about calendars and prices. */
export const ranges: Readonly<Record<string, string>> = isFull
  ? {}
  : { PRICE_DAYS: '3', SLOT_DAYS: '1', CALENDAR_YEARS: '1' }
