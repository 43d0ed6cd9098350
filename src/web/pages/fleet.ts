// The section of the status page about the fleet: its occupancy by day, as a heat map. Pure.

import { count } from '../../format.ts'
import type { FleetDay } from '../../inspect/fleet-calendar.ts'
import type { PageFacts } from '../page-facts.ts'
import type { Section } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'
import { type HeatRow, heatMap } from '../parts/plots.ts'

const takenOf = ({ free, known }: FleetDay): number => (known - free) / known

/** The least and the most occupied day, as shares. The colours cover this range. */
type Scale = { readonly least: number; readonly most: number }

function scaleOf(fleet: readonly FleetDay[]): Scale {
  const shares = fleet.filter(({ known }) => known > 0).map(takenOf)
  return { least: Math.min(...shares), most: Math.max(...shares) }
}

/** From 0 for the least to 5 for the most; 0 if all days are equal. */
const levelOf = (day: FleetDay, { least, most }: Scale): number | null =>
  day.known === 0 ? null : most === least ? 0 : Math.round(((takenOf(day) - least) / (most - least)) * 5)

const percent = (part: number, whole: number): string => `${count(Math.round((part / whole) * 1_000) / 10)} %`

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

/** `2026-07` → `Jul 2026`. */
export const monthName = (month: string): string => `${months[Number(month.slice(5)) - 1] ?? ''} ${month.slice(0, 4)}`

type Month = { readonly name: string; readonly days: readonly FleetDay[] }

function byMonth(fleet: readonly FleetDay[]): readonly Month[] {
  const grouped = new Map<string, FleetDay[]>()
  for (const day of fleet) {
    const month = day.date.slice(0, 7)
    grouped.set(month, [...(grouped.get(month) ?? []), day])
  }
  return [...grouped].map(([month, days]) => ({ name: monthName(month), days }))
}

const heatRow = ({ name, days }: Month, today: string, scale: Scale): HeatRow => ({
  name,
  cells: days.map((day) => ({
    level: levelOf(day, scale),
    title: day.known === 0 ? `${day.date}: unknown` : `${day.date}: ${count(day.free)} of ${count(day.known)} free`,
    marked: day.date === today,
  })),
})

function monthRow({ name, days }: Month): Html {
  const free = days.reduce((sum, day) => sum + day.free, 0)
  const known = days.reduce((sum, day) => sum + day.known, 0)
  return html`<tr><th scope="row">${name}</th><td class="number">${known === 0 ? 'unknown' : percent(free, known)}</td></tr>`
}

/** Twelve months with a square for each day, darker if less is free; and the same as a table by month. */
export function fleetSection({ fleet, today }: PageFacts): Section {
  const known = Math.max(0, ...fleet.map((day) => day.known))
  if (known === 0) return { quiet: 'No calendar has been read yet.' }
  const grouped = byMonth(fleet)
  const scale = scaleOf(fleet)
  const legend = [0, 1, 2, 3, 4, 5].map(
    (level) =>
      html`<svg width="14" height="14" aria-hidden="true"><rect class="heat-${level}" width="14" height="14" rx="3"/></svg>`,
  )
  return html`<section aria-labelledby="fleet"><h2 id="fleet">Fleet occupancy</h2>
<p class="note">Calendars of ${count(known)} resources. <span class="legend">${percent(scale.least, 1)} ${legend} ${percent(scale.most, 1)} occupied</span></p>
<div class="wide" tabindex="0" role="region" aria-label="Availability by day">${heatMap(
    grouped.map((month) => heatRow(month, today, scale)),
    'Occupancy of the fleet by day. The table below shows it by month.',
  )}</div>
<details id="months"><summary>By month</summary><table class="narrow"><caption class="hidden">Share of free days by month</caption>
<thead><tr><th scope="col">Month</th><th scope="col" class="number">Free</th></tr></thead><tbody>${grouped.map(monthRow)}</tbody></table></details></section>`
}
