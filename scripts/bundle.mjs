// Puts a program's own modules into few files: Node takes longer to find and load hundreds of small modules than most
// commands run. Packages stay outside, except some; Node finds them in `node_modules` above `outDir`.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/**
 * Packages that are put in, too, with those below them that package.json does not name. Kysely has 262 small modules, a fifth
 * of the time of a command; its version is exact in package.json, for its types. Below the others, yarn 1 takes versions
 * that need Node 22, and refuses them on Node 20.
 */
const inlined = ['kysely', 'fastify', 'pino-pretty']
/** Only `inject` of fastify loads it, which we do not call. */
const neverLoaded = 'light-my-request'

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const packageOf = (path) => /^(?:@[^/]+\/)?[^/]+/.exec(path)[0]

const packages = {
  name: 'packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point') return undefined
      const name = packageOf(path)
      const within = importer.includes('/node_modules/') ? !(name in dependencies) : inlined.includes(name)
      return within && name !== neverLoaded ? undefined : { path, external: true }
    })
  },
}

/**
 * Bundles `entries` (names with TypeScript files) into `outDir` as `NAME.js`, what they share or load later in files beside
 * them, with source maps. Returns the folders of the packages that were put in.
 */
export async function bundle({ entries, outDir }) {
  const { metafile } = await build({
    entryPoints: entries,
    outdir: outDir,
    bundle: true,
    plugins: [packages],
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Packages in CommonJS require Node's modules when they run.
    banner: { js: `import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);` },
    loader: { '.sql': 'text' },
    sourcemap: true,
    sourcesContent: false,
    minifyWhitespace: true,
    minifySyntax: true,
    metafile: true,
    logLevel: 'warning',
  })
  const folders = Object.keys(metafile.inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [])
  return [...new Set(folders)].sort()
}

/** Name, version and license of the packages in these folders, each with its notice, which must go with what is bundled. */
export function noticesOf(folders) {
  return folders
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
      const notice = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
      return `${name} ${version}, ${license}\n${notice}`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}
