// The linter of prose: phrases that our texts do not use, each with what to write instead (CONTRIBUTING.md, section
// "How we write"). A phrase's spaces match any white space.

import { code } from './prose-parts.ts'

type Rule = readonly [phrase: string, instead: string]

/** Regular expressions without regard to case; `~` is a word's edge. */
const rules: readonly Rule[] = [
  ['~told~', 'reported, recorded, sent; "until stopped"'],
  ['~tell(?:s|ing)?~', 'says, shows, reports; "distinguishes A from B"'],
  ['~matters?~', 'what it does: "is important", "needs attention"'],
  ['~is well~|~well\\?', '"is healthy", "check the health"'],
  ['~look(?:s|ed|ing)? at~', 'checks, reads, examines'],
  ['~(?:taken|takes?|taking|took) up~', 'starts, resumes, claims'],
  ['~work(?:ed|s|ing)? off~', 'processes, sends'],
  ['~left out but for~|~but for~', 'except'],
  ['~leaves? out~|~left out~', 'skips, omits, excludes'],
  ['~(?:the )?way back~', '"how to undo it"'],
  ['(?<!~no )~such (?!as~)', 'name the thing: "this", "these", "like this"'],
  ['~(?:thereby|whereby|wherein|therein|thereof|hereby|hitherto|herein|lest|whence|thence)~', 'split the sentence'],
  [`~some (?:\\d|${code})`, '"about 12 minutes"'],
  ['~as many as~', '"up to 12"'],
  ['~(?:for|needs?|without|by|until) a person~', '"you", "an operator", "needs attention"'],
  ['~somebody~|~someone~|~anybody~|~whoever~', '"you", "an operator", or name the role'],
  ["~one's own~|~one's~", '"your", "its"'],
  ['~(?:by itself|by themselves)~', 'automatically'],
  ['~having been~', 'a verb: "after it has read"'],
  ['~(?:is|are|was|were) to be~', '"must be", "will be"'],
  ['~(?:is|are|was|were) over(?=[.,;:]|$)', 'has ended'],
  ['~called off~', 'cancelled, aborted'],
  ['~(?:there|that) (?:is|are) not(?=[.,;:]|$)', '"that does not exist"'],
  ['~your word~', '"your decision", "until you run …"'],
  ['~on a whim~', 'name the condition'],
  ['~nothing is (?:said|told|asked)~', 'name what is not shown'],
  ['~for want of~|~in want of~', '"because … is missing"'],
  ['~begun~', 'started'],
]

const patterns = rules.map(([phrase, instead]) => ({
  pattern: new RegExp(phrase.replaceAll('~', '\\b').replaceAll(' ', '\\s+'), 'gi'),
  instead,
}))

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length

/** Finds the phrases of a blanked text that have a better wording, as `file:line: "phrase": better wording`. */
export function faultsOfProse(path: string, prose: string): readonly string[] {
  return patterns.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(pattern)].map(({ 0: found, index }) => {
      const phrase = found.trim().replace(/\s+/g, ' ')
      return `${path}:${lineOf(prose, index)}: "${phrase}": write ${instead}`
    }),
  )
}

/** Finds the sentences of a document that have more words than this, as `file:line: N words: "first words …"`. */
export function longSentences(path: string, prose: string, most: number): readonly string[] {
  const sentences = [...prose.matchAll(/(?:[^.!?:;]|[.!?:;](?!\**(?:\s|$)))+/g)].flatMap(({ 0: block, index }) =>
    splitBlocks(block, index),
  )
  return sentences.flatMap(({ text, index }) => {
    const words = text.split(/\s+/).filter((word) => /[\p{L}\d\0]/u.test(word))
    return words.length > most
      ? [
          `${path}:${lineOf(prose, index)}: ${words.length} words: "${words.slice(0, 6).join(' ').replaceAll(code, '')} …"`,
        ]
      : []
  })
}

/** A sentence also ends where a paragraph, an item of a list, a heading or a cell of a table does. */
function splitBlocks(text: string, from: number): readonly { readonly text: string; readonly index: number }[] {
  const blocks: { text: string; index: number }[] = []
  let index = from
  for (const part of text.split(/(\n\s*\n|\n\s*(?:[-*]|\d+\.) |\0 | \0\n|^\0+.*$)/m)) {
    blocks.push({ text: part, index: index + part.length - part.trimStart().length })
    index += part.length
  }
  return blocks
}
