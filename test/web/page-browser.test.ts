// The pages in a real Chromium: no complaint on the console, nothing from elsewhere, labels and contrast, nothing that
// jumps, in light and dark, on a phone. SCREENSHOTS=folder keeps pictures of each state.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { noteServer, type Server } from '../../src/database/presence.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { chromiumPath, openBrowser, watchPage } from './chromium.ts'
import { letWait, type Waiting } from './decisions-rig.ts'
import {
  activeLabel,
  activeParent,
  overflowingCells,
  place,
  poorContrast,
  poorLabels,
  shifts,
  sidewaysOverflow,
  watchShifts,
} from './page-checks.ts'
import { openBarePages, openPages, type Pages } from './pages-rig.ts'

const pictures = process.env.SCREENSHOTS

async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return
  await mkdir(pictures, { recursive: true })
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
}

const nothingYet = 'Nothing has been read yet, and no worker is running: start one with boat-mirror worker.'
const wide = { width: 1240, height: 900 }
const phone = { width: 390, height: 844 }

/** Opens a page: it can be read on a wide window and on a phone, and its first command is copied by a button. */
async function readable(page: Page, url: string, name: string): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(url)
  const command = page.locator('.command').first()
  await command.getByRole('button').press('Enter')
  await expect.poll(() => page.locator('#connection').textContent()).toBe(`Copied: ${await command.textContent()}`)
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await command.textContent())
  for (const size of [wide, phone]) {
    await page.setViewportSize(size)
    expect(await poorContrast(page)).toEqual([])
    expect(await poorLabels(page)).toEqual([])
    expect(await page.evaluate(sidewaysOverflow)).toBe(0)
    expect(await page.evaluate(overflowingCells)).toEqual([])
    await picture(page, `${name}-${size.width}`)
  }
  await page.setViewportSize(wide)
}

/** A process that serves the API. */
const servedBy = (pid: number, recentFailed: number): Server => ({
  ...{ id: `bridge:${pid}:a`, host: 'bridge', pid, version: '1.2.3', address: `http://127.0.0.1:858${pid}` },
  ...{ requests: 1_234_567, recentRequests: 1_500, recentRefused: 12, recentFailed },
  ...{ recentMeanMs: 3.14, recentSlowestMs: 217, recentOldestS: 90 },
})

describe.skipIf(chromiumPath === null)('in Chromium (not run where there is none)', () => {
  const browser = opened(() => openBrowser())

  /** A mirror that was read once and is to stay fresh, and its pages. */
  async function openMirrorAndPages(size: number): Promise<{ mirror: TestMirror; pages: Pages } & AsyncDisposable> {
    const mirror = await openTestMirror({ size })
    const pages = await openPages(mirror)
    await mirror.sync()
    const { pool } = mirror.app.database
    await pool.query(
      `update sync.streams set target_s = 86400, interval_s = 3600, next_due_at = now() + interval '1 h'`,
    )
    // The widest age that a row shows: of a whole list and of its hot window, in the longest units, with a target.
    await pool.query(
      `update sync.streams set target_s = 2700, as_of = now() - interval '55 min', hot_as_of = now() - interval '25 min'
        where stream = 'rentals'`,
    )
    for (const [pid, recentFailed] of [0, 7].entries()) await noteServer(pool, servedBy(pid, recentFailed))
    return {
      mirror,
      pages,
      [Symbol.asyncDispose]: async () => {
        await pages[Symbol.asyncDispose]()
        await mirror[Symbol.asyncDispose]()
      },
    }
  }

  describe('the status page of a mirror', () => {
    const both = opened(() => openMirrorAndPages(20))

    // With `npm test`, each of both once.
    for (const scheme of ['light', 'dark'] as const)
      for (const [device, viewport] of Object.entries({ wide, phone }))
        it.skipIf(isQuick && (scheme === 'light') === (device === 'phone'))(
          `is right in ${scheme} on a ${device} screen`,
          async () => {
            const page = await browser.newPage({ viewport, colorScheme: scheme })
            const complaints = watchPage(page, both.pages.url)
            await page.goto(both.pages.url)
            await page.locator('details').first().locator('summary').click()
            expect(await poorContrast(page)).toEqual([])
            expect(await poorLabels(page)).toEqual([])
            expect(await page.evaluate(sidewaysOverflow)).toBe(0)
            expect(await page.evaluate(overflowingCells)).toEqual([])
            expect(complaints).toEqual([])
            await page.locator('details').first().locator('summary').click()
            await picture(page, `fresh-${scheme}-${device}`)
            await page.close()
          },
        )

    it('keeps focus, open parts and its place while it is refreshed, and nothing jumps', async () => {
      const page = await browser.newPage({ viewport: wide })
      await page.goto(both.pages.url)
      const instant = await page.locator('.updated').textContent()
      await page.locator('#months summary').focus()
      await page.keyboard.press('Enter')
      const before = await page.evaluate(place)
      await page.evaluate(watchShifts)
      await expect.poll(() => page.locator('.updated').textContent()).not.toBe(instant)
      expect(await page.evaluate(place)).toEqual(before)
      expect(await page.evaluate(shifts)).toEqual([])
      expect(await page.evaluate(activeParent)).toBe('months')
      expect(await page.locator('#months').getAttribute('open')).not.toBe(null)
      await page.close()
    })

    it('is walked through by keyboard from its first link', async () => {
      const page = await browser.newPage({ viewport: wide })
      await page.goto(both.pages.url)
      const stops: string[] = []
      const isDone = (): boolean => stops.some((stop) => stop.includes('read endpoints answered successfully'))
      while (!isDone() && stops.length < 100) {
        await page.keyboard.press('Tab')
        stops.push(await page.evaluate<string>(activeLabel))
      }
      expect(stops.slice(0, 3)).toEqual(['Skip to the content', 'Status', 'Changes'])
      expect(stops).toEqual(expect.arrayContaining(['rentals', 'companies', 'resource_slots']))
      expect(isDone()).toBe(true)
      await page.close()
    })

    // Not with `npm test`: half a minute of waiting for a sync and a lost connection.
    it.skipIf(isQuick)('shows a sync under way, and says it when the connection is lost', async () => {
      both.mirror.sandbox.fault({ op: 'GET /v3/*', respond: { delayMs: 150 } })
      const page = await browser.newPage({ viewport: wide })
      await page.goto(both.pages.url)
      const syncing = both.mirror.sync({ full: true })
      await page.locator('progress').first().waitFor({ timeout: 60_000 })
      expect(await poorLabels(page)).toEqual([])
      expect(await page.evaluate(overflowingCells)).toEqual([])
      await picture(page, 'syncing')
      both.mirror.sandbox.clearFaults()
      await syncing
      await page.context().setOffline(true)
      await expect.poll(() => page.locator('#connection').textContent()).toContain('No connection')
      await page.context().setOffline(false)
      await expect.poll(() => page.locator('#connection').textContent()).toBe('')
      await page.close()
    })
  })

  // Not with `npm test`: most of a minute. The pages of a fresh mirror, and those before a decision, are checked in it.
  it.skipIf(isQuick)('a mirror with failures shows what fails and what waits, readable in light and dark', async () => {
    await using opened = await openMirrorAndPages(46)
    const { mirror, pages } = opened
    mirror.sandbox.fault({ op: 'GET /v3/equipments', respond: { status: 403 } })
    mirror.sandbox.mutate(
      (
        await mirror.app.database.pool.query<{ id: string }>('select id::text from mirror.rentals order by id limit 30')
      ).rows.map(({ id }) => ({ record: 'rentals', op: 'delete' as const, id })),
    )
    mirror.sandbox.raw({ record: 'harbours', id: 990_001 }, '{"id":990001,"latitude":"no number"}')
    await mirror.sync({ streams: ['equipments', 'rentals', 'harbours'] })
    mirror.sandbox.clearFaults()
    await mirror.app.database.pool.query(`update sync.streams set target_s = 1 where stream = 'cities'`)
    for (const scheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport: wide, colorScheme: scheme })
      const complaints = watchPage(page, pages.url)
      await page.goto(pages.url)
      // The server's memory of a second may still hold the state before; the page refreshes itself.
      await expect.poll(() => page.locator('.attention li').count()).toBe(4)
      expect(await page.locator('.streams tbody tr').first().textContent()).toContain('failing')
      expect(await poorContrast(page)).toEqual([])
      expect(await page.evaluate(overflowingCells)).toEqual([])
      expect(complaints).toEqual([])
      await picture(page, `failing-${scheme}`)
      for (const path of ['/streams/harbours', '/streams/rentals'])
        await readable(page, `${pages.url}${path}`, `stream-${path.slice(9)}-${scheme}`)
      await page.goto(pages.url)
      if (scheme === 'dark') {
        await page.setViewportSize(phone)
        await picture(page, 'failing-phone')
      }
      await page.close()
    }
  })

  describe('decisions', () => {
    const token = 'a-token-of-sixteen-and-more'
    const mirror = opened(() => openTestMirror({ size: 20 }))
    const pages = opened(() => openPages(mirror, { ADMIN_TOKEN: token }))
    let waiting: Waiting
    beforeAll(async () => {
      await mirror.sync({ streams: ['rentals'] })
      waiting = await letWait(mirror)
    })

    const httpCredentials = { username: 'ann', password: token }

    /** The pages on the way to a decision; all of them where pictures are kept. */
    const states = (): readonly (readonly [string, string])[] => {
      const { conflict, failed, unknown, queued, run } = waiting
      const some = [
        ['conflict-local', `/changes/${conflict}/local`],
        ['unknown-took-effect', `/changes/${unknown}/took-effect`],
        ['release', `/runs/${run}/release`],
      ] as const
      if (pictures === undefined) return some
      return [
        ...some,
        ['conflict', `/changes/${conflict}`],
        ['conflict-remote', `/changes/${conflict}/remote`],
        ['failed-retry', `/changes/${failed}/retry`],
        ['queued-cancel', `/changes/${queued}/cancel`],
        ['unknown-did-not', `/changes/${unknown}/did-not`],
        ['run', `/runs/${run}`],
        ['stream', '/streams/rentals'],
        ['pause', '/streams/rentals/pause'],
        ['status', '/'],
      ]
    }

    // With `npm test`, the status page is checked for contrast and width.
    it.skipIf(isQuick)('show what they do, readable in light and dark, wide and on a phone', async () => {
      for (const scheme of ['light', 'dark'] as const) {
        const page = await browser.newPage({ viewport: wide, colorScheme: scheme, httpCredentials })
        const complaints = watchPage(page, pages.url)
        for (const [name, path] of states()) {
          await page.goto(`${pages.url}${path}`)
          for (const size of [wide, phone]) {
            await page.setViewportSize(size)
            expect(await poorContrast(page), path).toEqual([])
            expect(await poorLabels(page), path).toEqual([])
            expect(await page.evaluate(sidewaysOverflow), path).toBe(0)
            expect(await page.evaluate(overflowingCells), path).toEqual([])
            await picture(page, `decide-${name}-${scheme}-${size.width}`)
          }
          await page.setViewportSize(wide)
        }
        expect(complaints).toEqual([])
        await page.close()
      }
    })

    it('are made by keyboard, on a phone, without JavaScript; once, and the page says by whom', async () => {
      const context = await browser.newContext({ viewport: phone, javaScriptEnabled: false, httpCredentials })
      const page = await context.newPage()
      await page.goto(`${pages.url}/changes/${waiting.failed}`)
      const link = page.getByRole('link', { name: 'Send again' })
      await link.focus()
      await page.keyboard.press('Enter')
      await page.waitForURL('**/retry')
      const name = page.getByLabel('Your name.')
      await name.focus()
      await page.keyboard.type('Ann')
      await page.keyboard.press('Enter')
      await page.waitForURL(`${pages.url}/changes/${waiting.failed}`)
      const decided = page.locator('section[aria-labelledby="decisions"]')
      expect(await decided.textContent()).toContain('Ann (unproven)')
      await picture(page, 'decided-phone')
      // The browser keeps no form: it asks for the page again.
      await page.goBack()
      await expect.poll(() => page.locator('h1').textContent()).toBe('There is nothing to decide')
      await picture(page, 'decided-twice-phone')
      const { rows } = await mirror.app.database.pool.query('select what, who from sync.decisions')
      expect(rows).toEqual([{ what: 'retry', who: 'Ann (unproven)' }])
      await context.close()
    })
  })

  it('an empty mirror says so', async () => {
    await using pages = await openBarePages()
    const page = await browser.newPage({ viewport: wide })
    const complaints = watchPage(page, pages.url)
    await page.goto(pages.url)
    expect(await page.locator('h1').textContent()).toBe(nothingYet)
    expect(await poorContrast(page)).toEqual([])
    await picture(page, 'empty')
    expect(complaints).toEqual([])
    await page.close()
  })

  it('a browser asks for the token, and keeps the page true with it', async () => {
    const password = 'a-token-of-sixteen-and-more'
    await using pages = await openBarePages({ ADMIN_TOKEN: password })
    const stranger = await browser.newPage({ httpCredentials: { username: 'ann', password: 'not the token at all' } })
    expect((await stranger.goto(pages.url))?.status()).toBe(401)
    await stranger.close()
    const page = await browser.newPage({ viewport: wide, httpCredentials: { username: 'ann', password } })
    await page.goto(pages.url)
    expect(await page.locator('h1').textContent()).toBe(nothingYet)
    const refreshed = await page.waitForResponse((answer) => answer.request().resourceType() === 'fetch')
    expect(refreshed.status()).toBe(200)
    expect(page.url()).not.toContain(password)
    await page.close()
  })
})
