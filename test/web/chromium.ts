// The Chromium of a test run: CHROMIUM, or `chromium` from the path. Where there is none, the suites that need it are
// not run, which REQUIRE_CHROMIUM=1 makes a failure.

import { type Browser, chromium, type Page } from 'playwright-core'
import { findOnPath } from '../helpers/redis-server.ts'

/** Path of the browser; null where there is none. */
export const chromiumPath = process.env.CHROMIUM ?? findOnPath('chromium') ?? findOnPath('chromium-browser') ?? null

if (chromiumPath === null && process.env.REQUIRE_CHROMIUM === '1')
  throw new Error('no chromium on the path, and REQUIRE_CHROMIUM is 1')

/** Starts the browser. As root it has no sandbox of its own; it only ever sees our pages. */
export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}

/** What a page did that it should not: console output, errors, requests off the machine, refused ones. */
export function watchPage(page: Page, origin: string): readonly string[] {
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(`console ${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) complaints.push(`foreign request: ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`)
  })
  return complaints
}
