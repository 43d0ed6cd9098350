// The parts of the documents that follow from the code. `npm run docs` writes them, test/docs.test.ts compares.

import { existsSync, readFileSync } from 'node:fs'
import { schemaDocument } from '../../scripts/schema-docs.ts'
import { readEndpoints, streams } from '../../src/catalog/catalog.ts'
import type { BodyField, WriteDef } from '../../src/catalog/types.ts'
import { writes } from '../../src/catalog/writes.ts'
import { settings } from '../../src/settings.ts'
import { withBlock } from './doc-block.ts'
import { llmsText, readDocuments, withContents } from './document-index.ts'
import { dueStatement } from './due-statement.ts'
import { libraryTypes } from './library-types.ts'

/** One row of the table of settings. */
const settingRow = ({ name, fallback, takes, meaning }: (typeof settings)[keyof typeof settings]): string =>
  `| \`${name}\` | ${fallback === null ? '–' : `\`${fallback}\``} | ${meaning} | ${takes} |`

/** A field of a body: bold where it must be given, its needed members behind it. */
function fieldText({ name, required, members }: BodyField): string {
  const needed = members?.filter((member) => member.required).map((member) => member.name) ?? []
  return `${required ? `**${name}**` : name}${needed.length > 0 ? ` \`{${needed.join(', ')}}\`` : ''}`
}

/** One row of the table of operations. */
const operationRow = ({ operation, target, body }: WriteDef): string =>
  `| \`${operation}\` | ${Object.keys(target).join(', ') || '–'} | ${body.map(fieldText).join(', ') || '–'} |`

type SettingKey = keyof typeof settings

/** The sections of docs/configuration.md and their settings. */
const settingGroups: Readonly<Record<string, readonly SettingKey[]>> = {
  api: [
    'baseUrl',
    'token',
    'auth',
    'language',
    'rateLimit',
    'quota',
    'concurrency',
    'timeoutMs',
    'httpsProxy',
    'httpProxy',
    'noProxy',
  ],
  paging: ['paging', 'pageParam', 'sizeParam', 'pageSize', 'pageBase', 'itemsPath', 'nextPath', 'totalPath'],
  database: ['databaseUrl', 'databaseDirectUrl', 'redisUrl', 'autoMigrate', 'dataDir', 'historyDays'],
  schedule: [
    'detailMaxAgeMs',
    'hotWindowMs',
    'readEconomy',
    'deleteLimit',
    'timeZone',
    'notTakingPlace',
    'calendarYears',
    'priceDays',
    'slotDays',
    'slotDurations',
  ],
  'write-back': ['outboxLimit', 'referenceAsNumber'],
  privacy: ['personalData', 'personalDataKey', 'mirrorDocuments'],
  messages: ['webhookUrl', 'webhookSecrets', 'webhookStreams', 'alertUrl', 'logLevel'],
  pages: ['host', 'port', 'adminToken'],
  serve: [
    'serve',
    'serveListen',
    'serveWaitMs',
    'serveFreshLimit',
    'serveRateLimit',
    'servePageParams',
    'serveSizeParams',
  ],
}

const grouped = new Set<string>(Object.values(settingGroups).flat())
const ungrouped = Object.keys(settings).filter((key) => !grouped.has(key))
if (ungrouped.length > 0) throw new Error(`These settings have no section in docs/configuration.md: ${ungrouped}`)

/** Tables between `<!-- name -->` and `<!-- /name -->`. */
const blocks: readonly { readonly path: string; readonly name: string; readonly lines: readonly string[] }[] = [
  ...Object.entries(settingGroups).map(([group, keys]) => ({
    path: 'docs/configuration.md',
    name: `settings-${group}`,
    lines: [
      '| variable | default | meaning | takes |',
      '|---|---|---|---|',
      ...keys.map((key) => settingRow(settings[key])),
    ],
  })),
  {
    path: 'docs/outbox.md',
    name: 'operations',
    lines: ['| operation | target | body |', '|---|---|---|', ...writes.map(operationRow)],
  },
  { path: 'docs/operations.md', name: 'due', lines: ['```sql', await dueStatement(), '```'] },
  ...Object.entries(libraryTypes()).map(([name, lines]) => ({ path: 'docs/library.md', name: `types-${name}`, lines })),
]

const reads = readEndpoints.length
/** Sentences with numbers of the catalog. */
const sentences: readonly { readonly path: string; readonly text: string }[] = [
  {
    path: 'docs/sources.md',
    text: `${reads + writes.length} operations under \`/v3\`: ${reads} reads and ${writes.length} writes.`,
  },
  { path: 'README.md', text: ` ${reads} reads, paged` },
  { path: 'README.md', text: ` ${writes.length} writes, once` },
  { path: 'README.md', text: `${streams.length} tables fed by all ${reads} read endpoints` },
  { path: 'README.md', text: `There are ${writes.length} operations.` },
  { path: 'docs/reliability.md', text: `all ${writes.length} operations` },
  { path: 'docs/reliability.md', text: `the ${writes.length} write operations` },
]

/** Puts a sentence in the place of the one with other numbers. @throws Error when the document has no such place. */
function withSentence(document: string, sentence: string): string {
  const pattern = new RegExp(sentence.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\d+/g, '\\d+'))
  if (!pattern.test(document)) throw new Error(`The document has no place for: ${sentence}`)
  return document.replace(pattern, () => sentence)
}

/** A document with its blocks, sentences and table of contents as they should be. */
function completed(path: string, text: string): string {
  let wanted = text
  for (const block of blocks) if (block.path === path) wanted = withBlock(wanted, block.name, block.lines)
  for (const sentence of sentences) if (sentence.path === path) wanted = withSentence(wanted, sentence.text)
  return withContents(wanted)
}

/** The documents and llms.txt: their path from the project's folder, how they read, and how they should. */
export function documents(): readonly { readonly path: string; readonly found: string; readonly wanted: string }[] {
  const complete = readDocuments().map(({ path, text }) => ({
    path,
    found: text,
    wanted: path === 'docs/schema.md' ? withContents(schemaDocument()) : completed(path, text),
  }))
  const index = llmsText(complete.map(({ path, wanted }) => ({ path, text: wanted })))
  const found = existsSync('llms.txt') ? readFileSync('llms.txt', 'utf8') : ''
  return [...complete, { path: 'llms.txt', found, wanted: index }]
}
