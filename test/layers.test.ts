// Holds the layers: imports run one way, and never in circles.

import { describe, expect, it } from 'vitest'
import { findCycles, judge, parseImports, projectRoot, readImports } from './helpers/import-graph.ts'

const { files, imports } = readImports(projectRoot, ['src', 'sandbox', 'migrations'])

describe('the program', () => {
  it('imports only what its layers allow', () => {
    expect(files.length).toBeGreaterThan(20)
    expect(imports.length).toBeGreaterThan(20)
    expect(imports.map(judge).filter((fault) => fault !== null)).toEqual([])
  })

  it('has no circle of imports', () => {
    expect(findCycles(imports).map((cycle) => cycle.join(' → '))).toEqual([])
  })
})

it('what opens the app for a command loads the sandbox only to run it', () => {
  const loaded = new Set(['src/cli/open.ts'])
  for (const file of loaded)
    for (const { from, to, typeOnly, later } of imports) if (from === file && !typeOnly && !later) loaded.add(to)
  expect(loaded.size).toBeGreaterThan(100)
  expect([...loaded].filter((file) => file.startsWith('sandbox/'))).toEqual([])
})

describe('an import is judged by the layers of both files', () => {
  const cases = [
    { line: "import { a } from '../app.ts'", file: 'src/cli/main.ts', allowed: true },
    { line: "import { a } from '../../sync/plan.ts'", file: 'src/cli/commands/sync.ts', allowed: true },
    { line: "import { a } from '../sandbox/server.ts'", file: 'src/cli/sandbox/host.ts', allowed: true },
    { line: "import { a } from './embedded/embedded-postgres.ts'", file: 'src/app.ts', allowed: true },
    { line: "export { openApp } from './app.ts'", file: 'src/index.ts', allowed: true },
    { line: "import { a } from '../mirror/rows.ts'", file: 'src/outbox/enqueue.ts', allowed: true },
    { line: "import { a } from '../catalog/catalog.ts'", file: 'src/api/client.ts', allowed: true },
    { line: "import { a } from '../errors.ts'", file: 'src/catalog/types.ts', allowed: true },
    { line: "import type { Config } from '../config.ts'", file: 'src/sync/context.ts', allowed: true },
    { line: "import { type Config, type B } from '../config.ts'", file: 'src/sync/context.ts', allowed: true },
    { line: "import { readConfig } from '../config.ts'", file: 'src/jobs/schedule.ts', allowed: true },
    { line: "import { migrations } from '../../migrations/index.ts'", file: 'src/schema/migrate.ts', allowed: true },
    { line: "import { a } from './0001_schemas.ts'", file: 'migrations/index.ts', allowed: true },
    { line: "import { Kysely } from 'kysely'", file: 'src/catalog/types.ts', allowed: true },

    { line: "import { a } from '../cli/main.ts'", file: 'src/jobs/worker.ts', allowed: false },
    { line: "import { a } from '../app.ts'", file: 'src/jobs/worker.ts', allowed: false },
    { line: "import { a } from '../jobs/queues.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "import { a } from '../jobs/queues.ts'", file: 'src/web/metrics.ts', allowed: false },
    { line: "import { a } from '../outbox/claim.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "import { a } from '../mirror/rows.ts'", file: 'src/api/client.ts', allowed: false },
    { line: "import type { A } from '../api/client.ts'", file: 'src/catalog/types.ts', allowed: false },
    { line: "import { a } from '../sandbox/world.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "import { a } from './sandbox/server.ts'", file: 'src/app.ts', allowed: false },
    { line: "import { a } from '../errors.ts'", file: 'sandbox/server.ts', allowed: false },
    { line: "import { a } from '../catalog/catalog.ts'", file: 'sandbox/operations.ts', allowed: false },
    { line: "import { a } from '../config.ts'", file: 'src/embedded/state.ts', allowed: false },
    { line: "import { a } from '../mirror/migrate.ts'", file: 'src/embedded/server.ts', allowed: false },
    { line: "import { readConfig } from '../config.ts'", file: 'src/sync/context.ts', allowed: false },
    { line: "import { type Config, readConfig } from '../config.ts'", file: 'src/sync/context.ts', allowed: false },
    { line: "import { a } from '../src/catalog/catalog.ts'", file: 'migrations/0001_schemas.ts', allowed: false },
    { line: "import { a } from '../../migrations/index.ts'", file: 'src/cli/context.ts', allowed: false },
    { line: "import { a } from './config.ts'", file: 'src/errors.ts', allowed: false },
    { line: "import { a } from '../util/text.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "import { a } from '../../test/helpers/database.ts'", file: 'src/mirror/rows.ts', allowed: false },
    { line: "import {\n  a,\n  b,\n} from '../jobs/queues.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "export * from '../jobs/queues.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "export { a } from '../jobs/queues.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "import '../jobs/queues.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "const a = await import('../jobs/queues.ts')", file: 'src/sync/plan.ts', allowed: false },
    { line: 'import { a } from "../jobs/queues.ts"', file: 'src/sync/plan.ts', allowed: false },
    { line: "import a, { type B } from '../jobs/queues.ts'", file: 'src/sync/plan.ts', allowed: false },
    { line: "let a: import('../jobs/queues.ts').Queue", file: 'src/sync/plan.ts', allowed: false },
  ]
  for (const { line, file, allowed } of cases)
    it(`${file} ${allowed ? 'may' : 'may not'} say: ${line.replace(/\s+/g, ' ')}`, () => {
      const faults = parseImports(file, `import { join } from 'node:path'\n${line}\n`).map(judge)
      expect(faults.filter((fault) => fault !== null)).toHaveLength(allowed ? 0 : 1)
    })
})

describe('imports are read from statements', () => {
  it('not from comments', () => {
    const text =
      "// import { a } from '../jobs/a.ts'\n/* import { b } from '../jobs/b.ts' */\n/**\n * import('../jobs/c.ts')\n */\n"
    expect(parseImports('src/sync/plan.ts', text)).toEqual([])
  })

  it('also behind an address in a string', () => {
    const text = "const a = 'http://a/*b'; const b = import('../jobs/b.ts') // '*/'\n"
    expect(parseImports('src/sync/plan.ts', text).map(({ to }) => to)).toEqual(['src/jobs/b.ts'])
  })
})

describe('circles', () => {
  const edges = (...pairs: readonly (readonly [string, string])[]) =>
    pairs.map(([from, to]) => ({ from, to, typeOnly: false, later: false }))
  const cases = [
    { name: 'a file that imports itself', imports: edges(['a', 'a']), cycles: [['a', 'a']] },
    { name: 'two files', imports: edges(['a', 'b'], ['b', 'a']), cycles: [['a', 'b', 'a']] },
    {
      name: 'three files below a fourth',
      imports: edges(['z', 'a'], ['a', 'b'], ['b', 'c'], ['c', 'a']),
      cycles: [['a', 'b', 'c', 'a']],
    },
    {
      name: 'none where two ways lead to one file',
      imports: edges(['a', 'b'], ['a', 'c'], ['b', 'd'], ['c', 'd']),
      cycles: [],
    },
  ]
  for (const { name, imports: given, cycles } of cases)
    it(`are found: ${name}`, () => expect(findCycles(given)).toEqual(cycles))
})
