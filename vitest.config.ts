import { configDefaults, defineConfig } from 'vitest/config'
import type { Extent } from './test/helpers/extent.ts'
import { LongestFirst } from './test/helpers/longest-first.ts'

/** As scripts/bundle.mjs does it: a file of SQL is imported as its text. */
const sqlFiles = {
  name: 'sql-files',
  transform: (text: string, file: string) =>
    file.endsWith('.sql') ? { code: `export default ${JSON.stringify(text)}`, map: null } : undefined,
}

/**
 * What `npm test` leaves to `npm run test:all`: campaigns and surroundings, except statements without statistics; and
 * files that start whole programs, servers or two mirrors for what others show one by one. `feed-model` and `ground` are models of
 * what `feed-copies` and `crash` do to real servers, `silent-queue` loses a Redis, `lock` and `identity` share one embedded server.
 * `partners` shows cases of what `partners-property` draws, `web/security` of what `operator` draws. `hostile/{project,scan,transport}`
 * show of each step what `hostile/sync` shows of whole syncs. `backend-gone`, `check` and `command` are the only proof that a process
 * ends although its queue is gone, of `sync --check`, and of the sandbox as a program: they take long, and these change rarely.
 * `usual-year` shows of real syncs what `closes` and `receipts` draw.
 * `protect`, `erase` and `writes` show of each place what `anywhere` draws; the other tests of pages ask for what `page-browser` and
 * `page-truth` look at; the tests of each command show what `outputs`, `init`, `words`, `messages` and `worker-mark` show of all of
 * them. `shared-work` shows when a long task is divided, which changes only how soon it ends.
 */
const omitted = [
  'test/chaos/**',
  'test/surroundings/!(statistics).test.ts',
  'test/serve/{mirror-of-mirror,openapi,reads-shapes,stacked-kills,writes-lost}.test.ts',
  'test/{cli/{hangup,lost-start,unbuilt},discovery/json-server,embedded/{embedded-postgres,full-temporary,processes}}.test.ts',
  'test/{release-check,access/partners-property,hostile/{operator,sync},jobs/backend-gone}.test.ts',
  'test/{jobs/redis-failover,mirror/feed-copies,outbox/crash,sandbox/command,sync/{check,shared-work}}.test.ts',
  'test/{cli/{check-write,init,messages,outputs,unauthorized,words,worker-mark},web/{page-browser,page-truth}}.test.ts',
  'test/{embedded/names,privacy/{anywhere,before-the-disk},reports/{own-blocks,usual-year},schema/restored-rights}.test.ts',
]

/** `npm test` names `quick`, campaigns name `full`; without a mode vitest takes its own, `test`. */
const extentOf = (mode: string): Extent => (mode === 'quick' || mode === 'full' ? mode : 'all')

export default defineConfig(({ mode }) => {
  const extent = extentOf(mode)
  return {
    plugins: [sqlFiles],
    test: {
      include: ['test/**/*.test.ts'],
      exclude: [...configDefaults.exclude, ...(extent === 'quick' ? omitted : [])],
      provide: { extent },
      // Tables are as wide as what they hold, also where a shell exports its width.
      env: { COLUMNS: '' },
      globalSetup: ['test/helpers/global-setup.ts'],
      // Tells stuck from slow, also where thirty processes want one processor; a test that needs longer says so, and why.
      testTimeout: 600_000,
      hookTimeout: 600_000,
      // What a test waits for comes, or never does.
      expect: { poll: { timeout: 120_000 } },
      // More than processors: most tests wait for others most of the time.
      maxWorkers: 4,
      // Loading what most files share, once for each of them, took a third of the time. Files leave nothing behind.
      isolate: false,
      // What a test starts as a process of its own is not counted.
      coverage: { include: ['src/**/*.ts'], reporter: ['text'], reportOnFailure: true },
      sequence: { shuffle: true, sequencer: LongestFirst },
    },
  }
})
