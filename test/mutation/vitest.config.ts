// The tests that kill mutants: those of pure logic, which need neither database nor network.

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: [
      'test/api/{envelope,json,next-link,page,page-address,page-memory,pages}.test.ts',
      'test/outbox/{attempts,merge,proof,transitions}.test.ts',
      'test/sync/{convert,decisions,keys,plan,project}.test.ts',
    ],
    testTimeout: 60_000,
  },
})
