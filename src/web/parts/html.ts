// HTML as values: a template escapes everything that is not HTML itself. And the document around every page.

import { asCalled } from '../../text.ts'

/** Markup that is safe to send as it is. */
export type Html = { readonly markup: string }

type Part = Html | string | number | null | undefined | false | readonly Part[]

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for use between tags and in quoted attributes. */
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (found) => escapes[found] ?? '')

function render(part: Part): string {
  if (part === null || part === undefined || part === false) return ''
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part))
  if ('markup' in part) return part.markup
  return part.map(render).join('')
}

/** A template that escapes its values, joins lists, and omits null and false. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  return { markup: strings.map((text, index) => text + render(values[index])).join('') }
}

/** The document around a page. It spells commands as this process was called, so that they work where they are pasted. */
export function layout(options: { readonly title: string; readonly body: Html; readonly live: boolean }): string {
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${options.title}</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/style.css">
${options.live && html`<script defer src="/assets/live.js"></script>`}
</head>
<body>
${options.body}
</body>
</html>
`
  return asCalled(markup, process.env)
}
