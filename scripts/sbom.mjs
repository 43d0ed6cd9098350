// The list of packages (SPDX) of the image: what is installed beside the program, and what the build put into it.
// `node sbom.mjs INSTALLED ALL BUNDLED`: npm's lists of what is installed there and where it was built, and the names of
// what the build put in. The versions of the latter are those of the place where it was built.

import { readFileSync } from 'node:fs'

const [installed, all, bundled] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')))
const names = new Set(bundled)
const listed = new Set(installed.packages.map(({ SPDXID }) => SPDXID))
const added = all.packages.filter(({ name, SPDXID }) => names.has(name) && !listed.has(SPDXID))
for (const { SPDXID } of added) listed.add(SPDXID)
const ends = ({ spdxElementId, relatedSpdxElement, relationshipType }) =>
  `${spdxElementId} ${relationshipType} ${relatedSpdxElement}`
const known = new Set(installed.relationships.map(ends))
const relationships = all.relationships.filter(
  (each) => listed.has(each.spdxElementId) && listed.has(each.relatedSpdxElement) && !known.has(ends(each)),
)
const whole = {
  ...installed,
  packages: [...installed.packages, ...added],
  relationships: [...installed.relationships, ...relationships],
}
process.stdout.write(`${JSON.stringify(whole, null, 2)}\n`)
