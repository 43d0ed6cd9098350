// The bench's own processes, bundled for this Node.

import { buildProgram } from '../test/helpers/child-program.ts'

const names = ['sync', 'download', 'baseline', 'push', 'writer', 'webhook', 'load'] as const

/** Files to start, by name. */
export type Programs = Readonly<Record<(typeof names)[number], string>> & AsyncDisposable

/** Bundles all of them. Disposing removes the bundles. */
export async function buildPrograms(): Promise<Programs> {
  const built = await Promise.all(
    names.map(async (name) => [name, await buildProgram(`bench/${name}-process.ts`)] as const),
  )
  const files = Object.fromEntries(built.map(([name, program]) => [name, program.file])) as Record<
    (typeof names)[number],
    string
  >
  return {
    ...files,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(built.map(([, program]) => program[Symbol.asyncDispose]()))
    },
  }
}
