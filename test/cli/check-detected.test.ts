// What `check` says of what syncs have found out about the API.

import { expect, it } from 'vitest'
import { detectedFindings } from '../../src/cli/check-detected.ts'
import type { DetectedSetting } from '../../src/profile/profile.ts'

const at = (day: number): Date => new Date(Date.UTC(2026, 6, day))
const pin = (key: string, value: unknown, contradictedAt: Date | null = null): DetectedSetting => ({
  ...{ key, value, probedAt: at(2), contradictedAt },
  contradiction: contradictedAt === null ? null : 'something else came',
})
const told = (pins: readonly DetectedSetting[], priceDays = 90): readonly string[] =>
  detectedFindings(pins, { priceDays }).map(({ name, status, detail }) => `${status} ${name}: ${detail}`)

it('says of windows, filters and prices at once whether they were tried, and are honoured', () => {
  expect(told([])).toEqual([
    'ok windows rentals: not tried yet: a worker tries it after its first complete sweep',
    'ok filter rentals: not tried yet: a sync tries it if more rentals lack a link than there are resources',
    'ok prices at once: not tried yet: a sync of resource_pricetable tries it',
  ])
  const honoured = [
    pin('windows:rentals', { honoured: true }),
    pin('filter:rentals.resourceId', true),
    pin('prices_at_once', { days: 90, whole: true }),
  ]
  expect(told(honoured)).toEqual([
    'ok windows rentals: filter and order work: new and upcoming rentals are listed every 1m',
    'ok filter rentals: resourceId works: one request per record of resources links its rentals',
    'ok prices at once: 90 days fit one request',
  ])
  const refused = [
    pin('windows:rentals', { honoured: false, reason: 'It answers 400.' }),
    pin('filter:rentals.resourceId', false),
    pin('prices_at_once', { days: 90, whole: false }),
  ]
  expect(told(refused)).toEqual([
    'warn windows rentals: the API does not filter or order as requested: It answers 400.',
    'ok filter rentals: resourceId does not work: each record of rentals is linked by its own read; retried after seven days',
    'ok prices at once: the API answers one request for 90 days incompletely, so each month is one request',
  ])
  expect(told(refused, 31)).toHaveLength(2)
  expect(told([pin('refused:rentals.order', 'GET /v3/rentals answered 400.')])).toContain(
    'ok parameter rentals.order: refused on 2026-07-02, so it is not sent for seven days: GET /v3/rentals answered 400.',
  )
  expect(told([pin('not_found:rental_payments', 'an empty list')])).toContain(
    'ok 404 of rental_payments: means an empty list below a record that exists',
  )
  expect(told(honoured, 60)[2]).toContain('compared again for PRICE_DAYS=60')
})

it('tells what is contradicted with what becomes of it, and no longer once it was probed again', () => {
  const remedyOf = (key: string): string | null | undefined =>
    detectedFindings([pin(key, 1, at(3))], { priceDays: 90 }).find(({ status }) => status === 'warn')?.remedy
  expect(remedyOf('page_base')).toMatch(/API_PAGE_BASE/)
  expect(remedyOf('prices_at_once')).toMatch(/each month is one request/)
  expect(remedyOf('filter:rentals.resourceId')).toMatch(/own read decides/)
  expect(remedyOf('availability_order')).toMatch(/one by one/)
  expect(remedyOf('summary:users')).toMatch(/probes it again/)
  expect(told([pin('page_base', 0, at(3))])).toContain('warn probed page_base: 0 no longer holds: something else came')
  expect(remedyOf('prices_at_once')).not.toMatch(/API_PAGE_BASE/)
  expect(detectedFindings([pin('page_base', 0, at(1))], { priceDays: 90 }).every(({ status }) => status === 'ok')).toBe(
    true,
  )
})
