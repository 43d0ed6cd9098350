// In whose name a command decides, and about which plan.

import type { DecidedBy } from '../sync/decisions.ts'

/** The flag of every command that decides: the plan as it was read. */
export type Expected = { readonly expected?: string | undefined }

export const decidedBy = ({ expected }: Expected): DecidedBy => ({
  via: 'command',
  ...(expected === undefined ? {} : { expected }),
})
