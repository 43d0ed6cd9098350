// The names of the reports, which help shows without loading them.

/** Every view of schema report, in the order in which they are listed. */
export const reportNames = [
  'fleet',
  'rentals',
  'occupancy',
  'calendar',
  'revenue',
  'departures',
  'balances',
  'cancellations',
  'overlaps',
  'freshness',
  'freshness_history',
] as const
