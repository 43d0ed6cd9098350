// Numbers, durations and instants as pages and terminals show them. Pure.

/** 12,345 or 0.4: at most one decimal. */
export const count = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 })

/** `1 record`, `2 records`. */
export const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

/** A duration in one or two units: 0.4 s, 45 s, 3 min 20 s, 2 d 4 h. */
export function duration(seconds: number): string {
  if (seconds < 59.5) return `${count(seconds < 10 ? seconds : Math.round(seconds))} s`
  const whole = Math.round(seconds)
  const index = units.findIndex(([, size]) => whole >= size)
  const [name, size] = units[index] ?? ['min', 60]
  const [smallerName, smallerSize] = units[index + 1] ?? ['s', 1]
  const rest = Math.floor((whole % size) / smallerSize)
  return `${Math.floor(whole / size)} ${name}${rest === 0 ? '' : ` ${rest} ${smallerName}`}`
}

/** A duration in its largest unit, rounded: 45 s, 3 min, 2 h, 5 d. */
export function about(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const unit = units.find(([, size]) => whole >= size)
  return unit === undefined ? `${whole} s` : `${Math.round(whole / unit[1])} ${unit[0]}`
}

/** Elapsed seconds as 0:07 or 1:02:45. */
export function elapsed(seconds: number): string {
  const whole = Math.floor(seconds)
  const minutes = Math.floor(whole / 60) % 60
  const tail = `${String(minutes).padStart(whole >= 3_600 ? 2 : 1, '0')}:${String(whole % 60).padStart(2, '0')}`
  return whole >= 3_600 ? `${Math.floor(whole / 3_600)}:${tail}` : tail
}

/** `3 min ago`, `in 20 s`; null for null. */
export function relative(instant: Date | null, now: Date): string | null {
  if (instant === null) return null
  const seconds = (now.getTime() - instant.getTime()) / 1_000
  return seconds >= 0 ? `${about(seconds)} ago` : `in ${about(-seconds)}`
}

/** The age of a stream: `11 min ago`, or `11 min ago, hot 20 s ago` if its hot window is fresher. */
export function freshAsOf(
  { asOf, hotAsOf }: { readonly asOf: Date | null; readonly hotAsOf: Date | null },
  now: Date,
): string {
  const whole = relative(asOf, now) ?? 'never'
  return hotAsOf !== null && asOf !== null && hotAsOf > asOf ? `${whole}, hot ${relative(hotAsOf, now)}` : whole
}

/** An instant as UTC to the second: 2030-05-01 12:00:00; null for null. */
export const instant = (at: Date | null): string | null => at?.toISOString().slice(0, 19).replace('T', ' ') ?? null

const sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** 14.2 MiB. */
export function bytes(value: number): string {
  const power = Math.min(sizes.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, value)) / 10)))
  return `${count(value / 1_024 ** power)} ${sizes[power]}`
}
