// What was shown of which code: all of it takes the better part of an hour, and goes on where it was stopped.

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeName } from '../../../scripts/proof-record.ts'
import { messageOf } from '../../../src/errors.ts'
import type { StepResult } from './steps.ts'

const file = 'node_modules/.cache/surroundings.json'

export type Record = {
  /** Results by name of the step. */
  readonly results: Map<string, StepResult>
  /** Null, or why results are not kept: the code has no name as long as something is not committed. */
  readonly notKept: string | null
  keep(name: string, result: StepResult): Promise<void>
}

/** Opens what there is of this very code; `fresh` begins anew. */
export async function openRecord(fresh: boolean): Promise<Record> {
  const named = await codeName(file, []).then(
    (code) => ({ code, notKept: null }),
    (error: unknown) => ({ code: null, notKept: messageOf(error) }),
  )
  const found = fresh || named.code === null ? null : await readFile(file, 'utf8').catch(() => null)
  const stored = found === null ? null : (JSON.parse(found) as { code: string; results: [string, StepResult][] })
  const results = new Map(stored?.code === named.code ? stored?.results : [])
  return {
    results,
    notKept: named.notKept,
    keep: async (name, result) => {
      results.set(name, result)
      if (named.code === null) return
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, JSON.stringify({ code: named.code, results: [...results] }))
    },
  }
}
