// Plots as inline SVG: small bars of runs, columns over hours, a heat map of days. Colours are classes, so that the style sheet sets
// them for light and dark; sizes are fixed, so that nothing jumps. Pure.

import { type Html, html } from './html.ts'

export type Bar = {
  /** 0 or more. */
  readonly value: number
  /** Class of the bar: `ok`, `warn`, `bad`, `mute`, or one of a plot's own. */
  readonly tone: string
  /** Shown when pointed at. */
  readonly title: string
}

const round = (value: number): number => Math.round(value * 10) / 10

/** Small bars side by side, at most `slots` of them, the newest at the right. `label` describes them in words. */
export function sparkBars(
  bars: readonly Bar[],
  { slots, label }: { readonly slots: number; readonly label: string },
): Html {
  const [step, height] = [4, 22]
  const largest = Math.max(...bars.map((bar) => bar.value), Number.MIN_VALUE)
  const offset = slots - bars.length
  const drawn = bars.map((bar, index) => {
    const tall = bar.value === 0 ? 1 : Math.max(2, round((bar.value / largest) * (height - 1)))
    return html`<rect class="${bar.tone}" x="${(offset + index) * step}" y="${round(height - tall)}" width="3" height="${tall}"><title>${bar.title}</title></rect>`
  })
  return html`<svg class="spark" role="img" aria-label="${label}" width="${slots * step}" height="${height}" viewBox="0 0 ${slots * step} ${height}">${drawn}</svg>`
}

type Column = {
  /** Stacked from below. */
  readonly parts: readonly { readonly value: number; readonly tone: string }[]
  readonly title: string
}

type ColumnPlot = {
  readonly columns: readonly Column[]
  readonly label: string
  /** Writes the largest value at the axis. */
  readonly format: (value: number) => string
  /** Marks below the axis, by index of the column. */
  readonly marks: readonly { readonly at: number; readonly text: string }[]
}

const [plotWidth, plotHeight, plotTop, plotBottom] = [360, 120, 16, 18]

/** The next round number: 1, 2 or 5 times a power of ten. */
function niceCeiling(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const times = [1, 2, 5, 10].find((each) => each * power >= value) ?? 10
  return times * power
}

/** Columns over time with one line of scale; the plot stretches to its box. */
export function columnPlot({ columns, label, format, marks }: ColumnPlot): Html {
  const sums = columns.map((column) => column.parts.reduce((sum, part) => sum + part.value, 0))
  const top = niceCeiling(Math.max(...sums, 0))
  const step = plotWidth / Math.max(1, columns.length)
  const scale = (plotHeight - plotTop - plotBottom) / top
  const base = plotHeight - plotBottom
  const drawn = columns.map((column, index) => {
    let y = base
    const parts = column.parts.map(({ value, tone }) => {
      if (value <= 0) return false
      const tall = Math.max(1, round(value * scale))
      y -= tall
      return html`<rect class="${tone}" x="${round(index * step + 0.5)}" y="${round(y)}" width="${round(step - 1)}" height="${tall}"/>`
    })
    return html`<g><title>${column.title}</title><rect class="hit" x="${round(index * step)}" y="${plotTop}" width="${round(step)}" height="${base - plotTop}"/>${parts}</g>`
  })
  const texts = marks.map(
    ({ at, text }) =>
      html`<text x="${round(at * step + step / 2)}" y="${plotHeight - 5}" text-anchor="middle">${text}</text>`,
  )
  return html`<svg class="plot" role="img" aria-label="${label}" viewBox="0 0 ${plotWidth} ${plotHeight}" width="${plotWidth}" height="${plotHeight}"><line class="grid" x1="0" x2="${plotWidth}" y1="${plotTop}" y2="${plotTop}"/><line class="axis" x1="0" x2="${plotWidth}" y1="${base}" y2="${base}"/>${drawn}<text x="0" y="${plotTop - 5}">${format(top)}</text>${texts}</svg>`
}

export type DayBar = {
  /** How much of the day is filled, 0 to 1; null: nothing is known. */
  readonly share: number | null
  readonly tone: string
  readonly title: string
}

/** Days side by side, each filled from below according to its share. `label` describes them in words. */
export function dayStrip(days: readonly DayBar[], label: string): Html {
  const [step, height] = [10, 34]
  const drawn = days.map(({ share, tone, title }, index) => {
    const [x, tall] = [index * step, share === null ? 0 : Math.max(3, round(share * height))]
    const filled =
      share !== null &&
      html`<rect class="${tone}" x="${x}" y="${round(height - tall)}" width="8" height="${tall}" rx="2"/>`
    return html`<g><title>${title}</title><rect class="heat-none" x="${x}" y="0" width="8" height="${height}" rx="2"/>${filled}</g>`
  })
  const width = days.length * step - 2
  return html`<svg class="strip" role="img" aria-label="${label}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${drawn}</svg>`
}

export type HeatRow = {
  readonly name: string
  /** One cell per day; `level` is a class from 0 to 5, null where nothing is known. */
  readonly cells: readonly { readonly level: number | null; readonly title: string; readonly marked: boolean }[]
}

/** Rows of small squares: a month per row, a day per column. */
export function heatMap(rows: readonly HeatRow[], label: string): Html {
  const [cell, left, top] = [18, 62, 16]
  const width = left + 31 * cell
  const height = top + rows.length * cell
  const heads = [1, 5, 10, 15, 20, 25, 31].map(
    (day) => html`<text x="${left + (day - 0.5) * cell - 1}" y="11" text-anchor="middle">${day}</text>`,
  )
  const drawn = rows.map(({ name, cells }, row) => {
    const y = top + row * cell
    const squares = cells.map(
      ({ level, title, marked }, day) =>
        html`<rect class="${level === null ? 'heat-none' : `heat-${level}`}${marked ? ' today' : ''}" x="${left + day * cell}" y="${y}" width="${cell - 2}" height="${cell - 2}" rx="3"><title>${title}</title></rect>`,
    )
    return html`<text x="0" y="${y + 12}">${name}</text>${squares}`
  })
  return html`<svg class="heat" role="img" aria-label="${label}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${heads}${drawn}</svg>`
}
