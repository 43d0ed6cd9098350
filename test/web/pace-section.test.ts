// The status page plots what is on the books for each month of departure, against a year before.

import pg from 'pg'
import { expect, it } from 'vitest'
import { opened } from '../helpers/opened.ts'
import { openBarePages, textOf } from './pages-rig.ts'

const pages = opened(() => openBarePages())

/** The section without markup; null: the page has none. */
async function section(): Promise<string | null> {
  const page = await (await pages.get('/')).text()
  const found = page.match(/<section aria-labelledby="pace">[\s\S]*?<\/section>/)
  return found === null ? null : textOf(found[0])
}

it('shows twelve months as of the last day that was kept, in a plot and a table, and says what is estimated', async () => {
  expect(await section()).toBe(null)
  const client = new pg.Client(pages.databaseUrl)
  await client.connect()
  await client.query(
    `insert into sync.pace_days (as_of, departure_month, company_id, currencies, rentals, days, amount, canceled, lead_days, with_lead)
     values ('2025-05-01', '2025-07-01', 1, '{EUR}', 1200, 1200, 5, 0, 9, 1), ('2025-05-02', '2025-07-01', 2, '{}', 34, 34, 5, 0, 9, 1),
       ('2025-05-06', '2025-07-01', 1, '{EUR}', 500, 1, 5, 0, 9, 1), ('2026-05-01', '2026-07-01', 1, '{EUR}', 1500, 1, 5, 0, 9, 1),
       ('2026-05-02', '2026-08-01', 1, '{EUR}', 7, 1, 5, 0, 9, 1)`,
  )
  await client.query(`update sync.settings set pace_from = '2026-01-01', pace_until = '2026-05-05'`)
  await client.end()
  await expect.poll(section).toContain('Dark: rentals on the books at the end of 2026-05-05; light: ')
  const shown = await section()
  expect(shown).toContain('on the same day a year before (estimated from when rentals were created).')
  expect(shown).toContain(
    'Month Rentals A year before May 2026 0 0 Jun 2026 0 0 Jul 2026 1,500 1,234 Aug 2026 7 0 Sep 2026 0 0',
  )
  expect(shown).toContain('Apr 2027 0 0')
})
