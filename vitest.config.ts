import { configDefaults, defineConfig } from 'vitest/config'
import { inGate } from './test/helpers/gate.ts'
import { LongestFirst } from './test/helpers/longest-first.ts'

/** As scripts/bundle.mjs does it: a file of SQL is imported as its text. */
const sqlFiles = {
  name: 'sql-files',
  transform: (text: string, file: string) =>
    file.endsWith('.sql') ? { code: `export default ${JSON.stringify(text)}`, map: null } : undefined,
}

/**
 * What the gate omits: campaigns and surroundings, which have commands of their own, but for how statements grow without
 * statistics; and files that start whole programs or two mirrors for what others show one by one.
 */
const omitted = [
  'test/chaos/**',
  'test/surroundings/!(statistics).test.ts',
  'test/serve/{mirror-of-mirror,openapi,reads-shapes,same-program,stacked-kills,stacked-writes,writes-lost}.test.ts',
  'test/{cli/{hangup,lost-start},discovery/json-server,embedded/embedded-postgres}.test.ts',
]

export default defineConfig({
  plugins: [sqlFiles],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(inGate ? omitted : [])],
    // Tables are as wide as what they hold, also where a shell exports its width.
    env: { COLUMNS: '' },
    globalSetup: ['test/helpers/global-setup.ts'],
    // Tells slow from stuck on a machine that does other things besides; a test that needs longer says so, and why.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // More than processors: most tests wait for others most of the time.
    maxWorkers: 4,
    // Loading what most files share, once for each of them, took a third of the time. Files leave nothing behind.
    isolate: false,
    // What a test starts as a process of its own is not counted.
    coverage: { include: ['src/**/*.ts'], reporter: ['text'], reportOnFailure: true },
    sequence: { shuffle: true, sequencer: LongestFirst },
  },
})
