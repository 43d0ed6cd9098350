// The tests that kill mutants: those of pure logic, which need neither database nor network.

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: [
      'test/api/{envelope,json,next-link,page,page-memory,pages,paging-servers,paging-styles,retry}.test.ts',
      'test/hostile/{json,lists,project}.test.ts',
      'test/outbox/{attempts,body,likeness,merge,outcome,states,values,verdicts}.test.ts',
      'test/sync/{convert,decisions,embeds,keys,plan,project,unknown-fields}.test.ts',
    ],
    provide: { extent: 'quick' },
    testTimeout: 60_000,
  },
})
