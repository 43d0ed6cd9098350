import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/global-setup.ts'],
    // Generous, for a machine that does other things besides: what hangs is found, what is slow is not called wrong.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // More than processors: most tests wait for others most of the time.
    maxWorkers: 4,
    // Loading what most files share, once for each of them, took a third of the time. Files leave nothing behind.
    isolate: false,
    sequence: { shuffle: true },
  },
})
