// `npm run release:check [-- vX.Y.Z]`: rehearses a release without the network. It packs what was built, and checks the
// package as its users get it. With a tag, as in the workflow, what is left to do before a tag is a fault, too.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import semver from 'semver'
import { notesOf } from './release-notes.mjs'

/** 1 MB in November 2026. What makes it larger should be meant. */
const largestPackage = 1_500_000
const licenses = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense']
/** The npm of a user runs them, or warns that it did not. */
const installScripts = ['preinstall', 'install', 'postinstall', 'prepare']
const [tag] = process.argv.slice(2)
const faults = []
const beforeTag = []

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))
const show = (what, found) => process.stdout.write(`${what.padEnd(9)} ${found}\n`)

const folder = mkdtempSync(join(tmpdir(), 'boat-mirror-release-'))
try {
  const output = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder])
  const packed = Object.values(JSON.parse(output))[0]
  const tarball = join(folder, packed.filename)
  execFileSync('tar', ['-xzf', tarball, '-C', folder])
  checkContents(readJson(join(folder, 'package/package.json')), packed)
  lint('publint', [tarball, '--strict'])
  lint('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--format', 'ascii'])
} finally {
  rmSync(folder, { recursive: true, force: true })
}
checkDependencies()
checkVersion()
show('owner', 'only an owner can set, once:')
for (const each of ownersSteps()) process.stdout.write(`          - ${each}\n`)
if (tag !== undefined) faults.push(...beforeTag)
else for (const each of beforeTag) show('todo', `before the tag: ${each}`)
for (const each of faults) show('FAULT', each)
show('result', faults.length === 0 ? 'nothing stands against a release' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1

function checkContents({ bin, exports, scripts }, { files, size, unpackedSize }) {
  show(
    'package',
    `${files.length} files, ${(size / 1e6).toFixed(1)} MB, unpacked ${(unpackedSize / 1e6).toFixed(1)} MB`,
  )
  if (size > largestPackage) faults.push(`The package has ${size} bytes, more than ${largestPackage}.`)
  const paths = files.map(({ path }) => path)
  const entries = [...Object.values(bin), ...Object.values(exports).flatMap((each) => Object.values(each))]
  for (const path of [...entries.map((each) => each.replace(/^\.\//, '')), 'LICENSE', 'README.md', 'CHANGELOG.md'])
    if (!paths.includes(path)) faults.push(`The package lacks ${path}. Run: npm run build`)
  for (const path of paths)
    if (/\.map$|(?<!\.d)\.ts$|(?:^|\/)\.|^(?:src|test|node_modules)\//.test(path))
      faults.push(`The package contains ${path}.`)
  for (const name of installScripts)
    if (scripts[name] !== undefined) faults.push(`The packed package.json has the script ${name}.`)
}

function lint(program, args) {
  const { status, stdout, stderr } = spawnSync(join('node_modules/.bin', program), args, { encoding: 'utf8' })
  show(program, status === 0 ? 'no problem' : `exit code ${status}\n${stdout}${stderr}`)
  if (status !== 0) faults.push(`${program} has found problems.`)
}

/** Of each package that is in the bundle, or installed with ours. Those for other platforms are in the lock file only. */
function checkDependencies() {
  const { engines } = readJson('package.json')
  const oldest = semver.minVersion(engines.node)
  const inlined = new Set(readFileSync('dist/licenses.txt', 'utf8').match(/^\S+ \d+\.\d+\.\d+(?=, \S+$)/gm))
  const isOurs = ([path, { dev, version }]) =>
    path !== '' && (!dev || inlined.has(`${path.replace(/^.*node_modules\//, '')} ${version}`))
  const locked = Object.entries(readJson('package-lock.json').packages).filter(isOurs)
  const counts = {}
  for (const [path, { version, license: stated, engines: wanted }] of locked) {
    // The package of msgpackr-extract for a platform names no license; it is built from the same sources.
    const license = path.includes('/@msgpackr-extract/') ? 'MIT' : stated
    counts[license] = (counts[license] ?? 0) + 1
    if (!licenses.includes(license)) faults.push(`${path} ${version} has the license ${license}.`)
    if (wanted?.node !== undefined && !semver.satisfies(oldest, wanted.node))
      faults.push(`${path} ${version} needs Node ${wanted.node}, and we claim ${engines.node}.`)
  }
  show(
    'licenses',
    Object.entries(counts)
      .map(([license, count]) => `${license} ${count}`)
      .join(', '),
  )
  show('engines', `${locked.length} packages take Node ${oldest}`)
}

function checkVersion() {
  const { version } = readJson('package.json')
  const changelog = readFileSync('CHANGELOG.md', 'utf8')
  show('version', version)
  if (tag !== undefined && tag !== `v${version}`) faults.push(`The tag is ${tag}, the version ${version}.`)
  if (notesOf(changelog, version) === '') faults.push(`CHANGELOG.md has nothing about ${version}.`)
  if (notesOf(changelog, 'Unreleased') !== '')
    beforeTag.push('move what CHANGELOG.md has under "Unreleased" below the version and its date')
  if (readJson('package.json').repository === undefined)
    beforeTag.push('set `repository` in package.json: npm compares it with the provenance')
}

function ownersSteps() {
  return [
    '`repository` in package.json: the address of the public repository',
    'the first publication of the name on npmjs.com: a trusted publisher can be set for an existing package only',
    'the trusted publisher there: this repository, the workflow release.yml, the environment npm; then no tokens',
    'in the repository: the environment npm with a reviewer, a rule that protects tags v*, private reports of vulnerabilities',
  ]
}
