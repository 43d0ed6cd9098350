// What of a file is prose: the rest is blanked in place, so that lines and columns stay as they are. Pure.

/** Stands in a blanked text for a character of code: no phrase matches across it. */
export const code = '\u0000'

export type Part = 'messages' | 'comments'

const blank = (text: string): string => text.replace(/\S/g, code)
const indent = (text: string): string => text.replace(/\S/g, ' ')
const withoutInlineCode = (text: string): string => text.replace(/`[^`\n]*`/g, blank)

/** Leaves the sentences of a Markdown document: without code, addresses of links and HTML. */
export function proseOfDocument(text: string): string {
  return text
    .replace(/^( *)(`{3,}).*\n[\s\S]*?^\1\2$/gm, blank)
    .replace(/<!--[\s\S]*?-->|<\/?\w[^>\n]*>/g, blank)
    .replace(/(`+)[\s\S]*?\1/g, blank)
    .replace(/\]\([^)\n]*\)|\||^#+/gm, blank)
    .replace(/https?:\/\/\S+/g, blank)
}

/** A piece of source text: from where to where, and what it is. */
type Piece = { readonly from: number; readonly to: number; readonly part: Part | 'sql' }

/** Leaves one part of a source file in TypeScript or SQL: its comments, or its string literals of several words. */
export function proseOfSource(path: string, text: string, part: Part): string {
  const pieces = path.endsWith('.sql') ? piecesOfSql(text) : piecesOfTypeScript(text)
  let prose = ''
  let end = 0
  for (const piece of pieces.filter((each) => each.part === part)) {
    prose += blank(text.slice(end, piece.from))
    prose += proseOfPiece(text.slice(piece.from, piece.to), part)
    end = piece.to
  }
  return prose + blank(text.slice(end))
}

function proseOfPiece(text: string, part: Part): string {
  if (part === 'comments') return withoutInlineCode(text.replace(/^\s*(?:\/\/|\/\*\*?|\*\/|\*|--)|\*\/$/gm, indent))
  const names = /\w+(?:[._]\w+)+/g // columns, functions, settings
  return withoutInlineCode(text.replace(/\\n/g, '  ').replace(/\\(['"])/g, ' $1')).replace(names, blank)
}

const statement = /^\s*(?:select|insert|update|delete|with|create|alter|drop|set|values|from|where|and|join|order|on)\b/

/** Of a literal: a message if it has several words and is no SQL. */
const literal = (text: string, from: number, to: number, tag: string): Piece => {
  const body = text.slice(from, to)
  const sql = tag === 'sql' || statement.test(body)
  return { from, to, part: !sql && /[a-z]{2,} .*[a-z]/i.test(body) ? 'messages' : 'sql' }
}

function piecesOfTypeScript(text: string): readonly Piece[] {
  const pieces: Piece[] = []
  const token =
    /\/\/.*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`|[{}]|\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|\//g
  const open: ('block' | 'insertion')[] = []
  const tags: string[] = []
  const template = (from: number): number => {
    const part = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y
    part.lastIndex = from
    const length = part.exec(text)?.[0].length ?? 0
    pieces.push(literal(text, from, from + length, tags.at(-1) ?? ''))
    if (text.startsWith('${', from + length)) {
      open.push('insertion')
      return from + length + 2
    }
    tags.pop()
    return from + length + 1
  }
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match
    const from = match.index
    const to = from + found.length
    const before = text.slice(Math.max(0, from - 40), from).trimEnd()
    if (found.startsWith('//') || found.startsWith('/*')) pieces.push({ from, to, part: 'comments' })
    else if (found.startsWith("'") || found.startsWith('"')) pieces.push(literal(text, from + 1, to - 1, ''))
    else if (found === '`') {
      tags.push(/(?:^|\W)sql(?:<[^`]*>)?$/.test(before) ? 'sql' : '')
      token.lastIndex = template(to)
    } else if (found === '{') open.push('block')
    else if (found === '}') {
      if (open.pop() === 'insertion') token.lastIndex = template(to)
    } else if (!/(?:[=(,:[!&|?{};+]|=>|\breturn)$/.test(before)) token.lastIndex = from + 1 // a division, no pattern
  }
  return pieces
}

function piecesOfSql(text: string): readonly Piece[] {
  return [...text.matchAll(/--.*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g)].map(({ 0: found, index: from }): Piece => {
    const to = from + found.length
    return found.startsWith("'") ? literal(text, from + 1, to - 1, '') : { from, to, part: 'comments' }
  })
}
