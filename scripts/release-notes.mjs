// What CHANGELOG.md has about a release: `node scripts/release-notes.mjs v1.0.0 https://github.com/OWNER/NAME`. A page of
// notes has another address than the files, so that links to them are made absolute.

import { readFileSync } from 'node:fs'

/** The text below the heading of a version, without the heading; empty if there is none. */
export function notesOf(changelog, version) {
  const section = changelog.split(/^## /m).find((each) => each.startsWith(`[${version}]`)) ?? ''
  return section.split('\n').slice(1).join('\n').trim()
}

/** With links to files of the repository as they were at the tag. */
export const withAbsoluteLinks = (notes, folder) => notes.replace(/\]\((?!https?:)([^)]+)\)/g, `](${folder}/$1)`)

if (process.argv[1] === import.meta.filename) {
  const [tag = '', repository = ''] = process.argv.slice(2)
  const notes = notesOf(readFileSync('CHANGELOG.md', 'utf8'), tag.replace(/^v/, ''))
  if (notes === '') throw new Error(`CHANGELOG.md has nothing about ${tag}.`)
  process.stdout.write(`${withAbsoluteLinks(notes, `${repository}/blob/${tag}`)}\n`)
}
