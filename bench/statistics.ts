// Medians and spreads. Pure.

export type Summary = { readonly median: number; readonly min: number; readonly max: number }

/** The value below which so many of the values lie, 0 to 1; the nearest one that was measured. NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

/** Median, least and largest value. */
export const summary = (values: readonly number[]): Summary => ({
  median: quantile(values, 0.5),
  min: Math.min(...values),
  max: Math.max(...values),
})
