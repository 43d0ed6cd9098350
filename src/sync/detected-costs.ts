// How the detected, uncontradicted settings of the API affect the costs of reads. Pure.

import { type DetectedSetting, isContradicted } from '../profile/detected-settings.ts'
import { atOnceSetting, type PricesAtOnce } from './details/readers/prices.ts'
import type { Costs } from './read-costs.ts'

/** @param priceDays PRICE_DAYS, for which prices are answered at once or not */
export function detectedCosts(
  detected: readonly DetectedSetting[],
  priceDays: number,
): Pick<Costs, 'pricesAtOnce' | 'refusedFilters'> {
  const valid = detected.filter((setting) => !isContradicted(setting))
  const prices = valid.find(({ key }) => key === atOnceSetting)?.value as PricesAtOnce | undefined
  return {
    pricesAtOnce: prices?.whole === true && prices.days === priceDays,
    refusedFilters: new Set(valid.flatMap(({ key, value }) => (value === false ? key : []))),
  }
}
