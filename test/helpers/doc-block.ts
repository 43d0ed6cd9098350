// Blocks of documents that `npm run docs` makes: what stands between `<!-- name -->` and `<!-- /name -->`.

/** A document's text with other lines in its block of that name. @throws Error when it has none. */
export function withBlock(text: string, block: string, lines: readonly string[]): string {
  const pattern = new RegExp(`<!-- ${block} -->[\\s\\S]*?<!-- /${block} -->`)
  if (!pattern.test(text)) throw new Error(`The document has no block ${block}.`)
  return text.replace(pattern, () => [`<!-- ${block} -->`, ...lines, `<!-- /${block} -->`].join('\n'))
}
