// All operations' handlers in one map, by method and path template.

import type { Handlers } from './call.ts'
import { listHandlers } from './reads/lists.ts'
import { resourceHandlers } from './reads/resources.ts'
import { rentalPartHandlers } from './rules/rental-parts.ts'
import { rentalHandlers } from './rules/rentals.ts'
import { userHandlers } from './rules/users.ts'

export const handlers: Handlers = {
  ...userHandlers,
  ...listHandlers,
  ...resourceHandlers,
  ...rentalHandlers,
  ...rentalPartHandlers,
}
