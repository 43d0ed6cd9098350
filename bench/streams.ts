// Which streams are measured.

import { streams } from '../src/catalog/catalog.ts'

/** The lists that are read before rentals, because rentals embed their records. */
export const listsBeforeRentals = streams
  .filter((stream) => stream.reads.kind === 'list' && stream.name !== 'rentals')
  .map(({ name }) => name)

/** Rentals, who rents them, and all that hangs below. */
export const detailStreams = ['users', 'rentals', 'rental_options', 'rental_payments', 'rental_crew_members']
