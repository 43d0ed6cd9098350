// The program's version, from package.json beside the compiled files or the sources.

import { existsSync, readFileSync } from 'node:fs'

const places = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url))

/** The version in package.json. */
export const version: string = (() => {
  const place = places.find((candidate) => existsSync(candidate))
  if (place === undefined) return 'unknown'
  const { version: found } = JSON.parse(readFileSync(place, 'utf8')) as { version?: string }
  return found ?? 'unknown'
})()
