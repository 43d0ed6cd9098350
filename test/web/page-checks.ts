// What is asked of a page inside the browser, as text: the project's types know no browser.

import type { Page } from 'playwright-core'

/** What gives focus to people who cannot see it: the label of the focused element, or its text. */
export const activeLabel = `document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? ''`

/** Id of what holds the focused element. */
export const activeParent = `document.activeElement?.parentElement?.id`

/** Scroll position and height of the page. */
export const place = '[window.scrollY, document.documentElement.scrollHeight]'

/** By how many pixels the page is wider than its window. */
export const sidewaysOverflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

/** Cells of tables whose content runs into the next column or beyond the table: their column, and what they show. */
export const overflowingCells = `[...document.querySelectorAll('table th, table td')].flatMap((cell) => {
  const content = document.createRange()
  content.selectNodeContents(cell)
  const { paddingLeft, paddingRight } = getComputedStyle(cell)
  const [inner, outer] = [content.getBoundingClientRect(), cell.getBoundingClientRect()]
  const [left, right] = [outer.left + parseFloat(paddingLeft), outer.right - parseFloat(paddingRight)]
  const isInside = inner.width === 0 || (inner.left >= left - 1 && inner.right <= right + 1)
  return isInside ? [] : [(cell.dataset.label ?? cell.tagName) + ': ' + cell.textContent.trim()]
})`

/** From now on notes what visible part jumps, and how far; what a key press has just moved does not count. */
export const watchShifts = `window.shifts = []
const nameOf = ({ node }) => node?.outerHTML?.slice(0, 80) ?? node?.textContent?.slice(0, 80)
new PerformanceObserver((list) => {
  for (const { value, sources, hadRecentInput } of list.getEntries())
    if (!hadRecentInput) window.shifts.push(value + ' ' + sources.map(nameOf).join(', '))
}).observe({ type: 'layout-shift', buffered: false })`

/** The jumps noted. */
export const shifts = 'window.shifts'

const contrastCheck = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
  const light = (color) => {
    const [r, g, b] = color.map((value) => {
      const part = value / 255
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element) => {
    for (let each = element; each !== null; each = each.parentElement) {
      const color = parse(getComputedStyle(each).backgroundColor)
      if (color.length === 3 || color[3] === 1) return color
    }
    return [255, 255, 255]
  }
  const poor = []
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.nodeValue.trim() !== '')
    if (!own || element.tagName.toLowerCase() === 'title' || element.getClientRects().length === 0) continue
    const style = getComputedStyle(element)
    const text = light(parse(element instanceof SVGElement ? style.fill : style.color))
    const ground = light(behind(element))
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05)
    if (ratio < 4.5) poor.push(element.tagName + ' "' + element.textContent.trim().slice(0, 30) + '" ' + ratio.toFixed(2))
  }
  return [...new Set(poor)]
})()`

const labelCheck = `(() => {
  const poor = []
  const nameOf = (element) => {
    const label = element.getAttribute('aria-label')
    if (label !== null) return label
    if (element.matches('[role=img], [role=region], progress')) return ''
    if (element.matches('input')) return element.labels[0]?.textContent ?? ''
    if (element.matches('table')) return element.caption?.textContent ?? ''
    return element.textContent
  }
  for (const element of document.querySelectorAll('a, button, summary, input, progress, [role=img], [role=region], table'))
    if (nameOf(element).trim() === '') poor.push(element.outerHTML.slice(0, 120))
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id)
  for (const id of new Set(ids)) if (ids.filter((each) => each === id).length > 1) poor.push('id ' + id + ' twice')
  for (const name of ['aria-labelledby', 'aria-describedby'])
    for (const element of document.querySelectorAll('[' + name + ']'))
      if (document.getElementById(element.getAttribute(name)) === null) poor.push('nothing is called ' + element.getAttribute(name))
  const levels = [...document.querySelectorAll('h1, h2, h3')].map((heading) => heading.tagName).join(' ')
  if (!/^H1( H2)*$/.test(levels)) poor.push('headings: ' + levels)
  return poor
})()`

/** Texts whose contrast against what is behind them is below 4.5 to 1. */
export const poorContrast = (page: Page): Promise<string[]> => page.evaluate<string[]>(contrastCheck)

/** Controls, pictures and tables without a name, ids that occur twice or nowhere, headings out of order. */
export const poorLabels = (page: Page): Promise<string[]> => page.evaluate<string[]>(labelCheck)
