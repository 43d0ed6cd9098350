// `npm run screenshot`: docs/status-page.png, the page of a worker that has read the sandbox once. It starts the built
// program in an empty folder, as a new user does, and needs `chromium` on the path or CHROMIUM.

import { chmod } from 'node:fs/promises'
import type { StatusFacts } from '../src/inspect/status.ts'
import { closedPort } from '../test/api/http-server.ts'
import { openCommandLine } from '../test/cli/program.ts'
import { chromiumPath, openBrowser } from '../test/web/chromium.ts'

const picture = 'docs/status-page.png'
/** A first sync of the sandbox takes a few seconds to a minute, on a busy machine more. */
const syncLimitMs = 180_000
/** Until then `rentals` has run twice more, so that its charts show more than a first sync. */
const chartMs = 90_000

/** Waits until the status shows every stream as fresh. @throws Error when that takes too long */
async function untilFresh(url: string): Promise<void> {
  const limit = Date.now() + syncLimitMs
  let states: readonly string[] = []
  while (Date.now() < limit) {
    const response = await fetch(`${url}/api/status`).catch(() => null) // not listening yet
    const status = response?.ok ? ((await response.json()) as StatusFacts) : null
    states = status?.streams.map(({ state }) => state) ?? []
    if (states.length > 0 && states.every((state) => state === 'fresh')) return
    await sleep(500)
  }
  throw new Error(`Not every stream is fresh after ${syncLimitMs / 1_000} s: ${states.join(', ') || 'no answer'}`)
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

if (chromiumPath === null) throw new Error('There is no chromium on the path. Install it, or set CHROMIUM.')
const port = await closedPort()
await using cli = await openCommandLine({ PORT: String(port) })
await chmod(cli.folder, 0o711) // started as root, Postgres runs as another user, who must pass through
const worker = cli.start(['worker'])
const browser = await openBrowser()
try {
  const url = `http://127.0.0.1:${port}`
  await Promise.race([
    untilFresh(url),
    worker.ended.then(() => Promise.reject(new Error(`The worker ended: ${worker.text()}`))),
  ])
  await sleep(chartMs)
  const page = await browser.newPage({ viewport: { width: 1240, height: 900 }, colorScheme: 'light' })
  await page.goto(url)
  await page.screenshot({ path: picture })
  process.stdout.write(`Written to ${picture}.\n`)
} finally {
  await browser.close()
  worker.process.kill('SIGTERM')
  await worker.ended
}
