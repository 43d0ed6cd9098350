// An API may write a number and a date-time in any way that its standard allows: the mirror is the same.

import { expect, it } from 'vitest'
import { openAlteringFront } from '../helpers/altering-front.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'

/** Other spellings of the same number: as BigDecimal writes it, with a point, with one digit before it, with a negative exponent. */
const numbers: readonly ((digits: string) => string)[] = [
  (digits) => digits.replace(/^(-?\d*[1-9])(0+)$/, (_, first: string, zeros: string) => `${first}E+${zeros.length}`),
  (digits) => (digits.includes('.') ? `${digits}0` : `${digits}.0`),
  (digits) =>
    digits.replace(/^(-?\d)(\d*)$/, (_, first: string, rest: string) => `${first}.${rest || '0'}e${rest.length}`),
  (digits) => (/^-?[1-9]\d*$/.test(digits) ? `${digits}00e-2` : digits),
]

/** Other spellings of the same instant. */
const dateTimes: readonly ((text: string) => string)[] = [
  (text) => text.toLowerCase(),
  (text) =>
    text
      .replace('T', ' ')
      .replace(/(:\d\d)(\.\d+)?(?=Z|\+)/, (_, seconds, more = '.0') => `${seconds}${more}${'0'.repeat(20)}`),
  (text) => text.replace(/Z"$/, '+00:00"'),
]

/** The next of the spellings for each number and date-time, one after the other. */
function respelt(text: string): string {
  let count = 0
  const next = (spellings: typeof numbers, value: string): string =>
    spellings[count++ % spellings.length]?.(value) ?? value
  return text.replace(/("(?:[^"\\]|\\.)*")|(-?\d[\d.]*)/g, (value, quoted?: string) => {
    if (quoted === undefined) return next(numbers, value)
    return /^"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/.test(quoted) ? next(dateTimes, value) : value
  })
}

// Not with `npm test`: a whole world twice.
it.skipIf(isQuick)('the mirror equals the truth, and nothing changes when another spelling comes', async () => {
  let turn = 0
  const streams = ['rentals', 'users', 'resources', 'rental_payments', 'rental_options']
  await using mirror = await openTestMirror({ size: 8 }, {}, undefined, (url) =>
    openAlteringFront(url, ({ text }) => (turn % 2 === 0 ? respelt(text) : text)),
  )
  const differences = async (): Promise<readonly string[]> =>
    (await mirror.differences()).filter((each) => streams.includes(each.split(' ')[0] ?? ''))
  const problems = async (): Promise<readonly unknown[]> => {
    const runs = await mirror.sync({ streams, full: true })
    const rows = await mirror.all('select stream, reason from sync.quarantine')
    return [...runs.filter((run) => run.status !== 'done').map((run) => `${run.stream}: ${run.error}`), ...rows]
  }
  expect(await problems()).toEqual([])
  // The payload is the text as it came.
  expect((await differences()).filter((each) => !each.endsWith(': _payload'))).toEqual([])

  turn++
  expect(await problems()).toEqual([])
  expect(await differences()).toEqual([])
})
