// Which places of `src` the processes ran that tests had started: what V8 wrote about the files in `dist`, through their
// source maps.

import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { GREATEST_LOWER_BOUND, generatedPositionFor, TraceMap } from '@jridgewell/trace-mapping'

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number }
type Script = { readonly url: string; readonly functions: readonly { readonly ranges: readonly Range[] }[] }

/** A place in a source file; `line` from 1, `column` from 0. */
export type Place = { readonly line: number; readonly column: number }

/** A source file in what was built from it: where a place of it lies there, and the runs of that. */
type Built = { readonly offsetOf: (place: Place) => number | null; readonly runs: Script[] }

export class Processes {
  readonly #files: ReadonlyMap<string, readonly Built[]>

  private constructor(files: ReadonlyMap<string, readonly Built[]>) {
    this.#files = files
  }

  /** Reads what Node wrote into a folder (`NODE_V8_COVERAGE`). */
  static async read(folder: string): Promise<Processes> {
    const dist = pathToFileURL(resolve('dist/src')).href
    const scripts = new Map<string, Script[]>()
    for (const name of await readdir(folder)) {
      const { result }: { result: readonly Script[] } = JSON.parse(await readFile(join(folder, name), 'utf8'))
      for (const script of result) {
        if (!script.url.startsWith(`${dist}/`)) continue
        const path = fileURLToPath(script.url)
        scripts.set(path, [...(scripts.get(path) ?? []), script])
      }
    }
    const files = new Map<string, Built[]>()
    for (const [path, runs] of scripts)
      for (const [source, offsetOf] of await offsets(path))
        files.set(source, [...(files.get(source) ?? []), { offsetOf, runs }])
    return new Processes(files)
  }

  /** Whether one of them ran a place of a source file (its whole path). */
  ran(source: string, place: Place): boolean {
    return (this.#files.get(source) ?? []).some(({ offsetOf, runs }) => {
      const offset = offsetOf(place)
      return offset !== null && runs.some((script) => countAt(script, offset) > 0)
    })
  }
}

/** Reads a built file and its map: where a place lies in it, for each source file (its whole path) that went into it. */
async function offsets(path: string): Promise<ReadonlyMap<string, Built['offsetOf']>> {
  const map = new TraceMap(await readFile(`${path}.map`, 'utf8'))
  const starts = [0]
  for (const { index } of (await readFile(path, 'utf8')).matchAll(/\n/g)) starts.push(index + 1)
  const offsetIn =
    (source: string): Built['offsetOf'] =>
    (place) => {
      // A line's own first mapping stands for what stands before it in that line.
      const found = generatedPositionFor(map, { source, ...place, bias: GREATEST_LOWER_BOUND })
      return found.line === null ? null : (starts[found.line - 1] ?? 0) + found.column
    }
  return new Map(map.sources.map(String).map((source) => [resolve(dirname(path), source), offsetIn(source)]))
}

/** How often a place ran: what the innermost range around it says. */
function countAt(script: Script, offset: number): number {
  let innermost: Range | undefined
  for (const { ranges } of script.functions)
    for (const range of ranges)
      if (
        range.startOffset <= offset &&
        offset < range.endOffset &&
        (innermost === undefined || isInside(range, innermost))
      )
        innermost = range
  return innermost?.count ?? 0
}

const isInside = (range: Range, outer: Range): boolean =>
  range.endOffset - range.startOffset <= outer.endOffset - outer.startOffset
