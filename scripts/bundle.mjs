// Puts a program's own modules into few files: Node takes longer to find and load hundreds of small modules than most
// commands run. Packages stay outside; Node finds them in `node_modules` above `outDir`.

import { build } from 'esbuild'

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
