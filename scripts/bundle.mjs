// Puts a program's own modules into few files: Node takes longer to find and load hundreds of small modules than most
// commands run. Packages stay outside; Node finds them in `node_modules` above `outDir`.

import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Packages that are put in, too: Kysely has 262 small modules, a fifth of the time of a command. Its version is exact in package.json. */
const inlined = ['kysely']

/**
 * Bundles `entries` (names with TypeScript files) into `outDir` as `NAME.js`, what they share or load later in files beside
 * them, with source maps.
 */
export async function bundle({ entries, outDir }) {
  await build({
    entryPoints: entries,
    outdir: outDir,
    bundle: true,
    packages: 'external',
    alias: Object.fromEntries(inlined.map((name) => [name, fileURLToPath(import.meta.resolve(name))])),
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    loader: { '.sql': 'text' },
    sourcemap: true,
    sourcesContent: false,
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'warning',
  })
}
