// docs/schema.md as text, from the catalog and the comments that the database carries. Pure; `npm run docs` writes it.

import { holdsPerson, streams } from '../src/catalog/catalog.ts'
import { bookkeepingComments } from '../src/catalog/columns.ts'
import type { Column, StreamDef } from '../src/catalog/types.ts'
import { describeReads, stateComments } from '../src/schema/comments.ts'

const currencies = streams.flatMap(({ name, columns }) =>
  columns.filter(({ currency }) => currency === true).map((column) => `${name}.${column.name}`),
)

const introduction = `# The database

This page lists the tables of \`mirror\` and \`sync\` with their columns, and functions of both. \`npm run docs\` makes it
from the catalog. The same texts are comments in the database: \`\\d+ mirror.rentals\` in psql shows them.

- \`mirror\`: every record of the API, one table for each record type. Names follow the API's fields in snake_case.
- \`mirror_views\`: the same tables without documents, personal columns and payloads with personal data, for
  \`boat_mirror_reader\`.
- \`live\`: the tables of \`mirror\` under the same names, without deleted records and without \`_deleted_at\`. These columns are
  currency codes: \`${currencies.join('`, `')}\`. \`boat_mirror_reader\` may read the columns without personal data.
- \`report\`: [views for analysts](queries.md).
- \`company_access\`: which roles may see [only some companies](security.md#access-by-company); for the owner.
- \`sync\`: the state of syncing: runs, freshness, quarantine.
- \`outbox\`: [changes on their way to the API](outbox.md); \`bullmq\`: the queue on Postgres.
- \`mirror.change_log\`: what changed and when. Read it with \`mirror.changes_since\`. Its months are in \`mirror_log\`.

Every reference has an index, but mirrored records have no foreign keys, because the API decides what exists. SQL null stands for a
null and for an absent field; \`_payload\` shows which.`

const bookkeepingTypes: Readonly<Record<string, string>> = {
  _payload: 'jsonb',
  _source: 'text',
  _read_at: 'timestamptz',
  _changed_at: 'timestamptz',
  _deleted_at: 'timestamptz',
}

/** A text inside a table cell. */
const cell = (text: string): string => text.replaceAll('|', '\\|')

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const code = (text: string): string => `\`${text}\``

/** Personal data and references are marked behind the meaning. */
function meaning(column: Column): string {
  const marks = [column.personal === true ? 'Personal.' : '', column.reference === true ? 'Indexed.' : '']
  return [column.comment, ...marks].filter((text) => text !== '').join(' ')
}

function streamSection(stream: StreamDef): string {
  const facts = [
    `Key: ${stream.key.map(code).join(', ')}.`,
    stream.parent === undefined ? '' : `Below ${code(`mirror.${stream.parent}`)}.`,
    describeReads(stream).replace(/GET \/v3\/[^\s,]*[^\s,.]/g, code),
    `Source: ${stream.source}.`,
    stream.document === true ? 'Filled only with `MIRROR_DOCUMENTS=on`, and never shown to `boat_mirror_reader`.' : '',
    stream.document !== true && holdsPerson(stream) ? '`boat_mirror_reader` sees it without personal columns.' : '',
  ]
  const rows = stream.columns.map((column) => [
    code(column.name),
    column.type,
    column.path === null ? '' : code(column.path),
    meaning(column),
  ])
  return [
    `### mirror.${stream.name}`,
    stream.comment,
    facts.filter((text) => text !== '').join(' '),
    table(['column', 'type', 'field', 'meaning'], rows),
  ].join('\n\n')
}

/** Subject and text of the comments that are written by hand. */
const syncComments = [...stateComments.matchAll(/^comment on (.+) is\s+'(.+)';$/gm)].map(
  ([, subject = '', text = '']) => [subject, text.replaceAll("''", "'")] as const,
)

/** Tables whose comments are written by hand: name, meaning, columns. */
function otherSections(): readonly string[] {
  const tables = syncComments.filter(([subject]) => subject.startsWith('table '))
  return tables.map(([subject, comment]) => {
    const name = subject.slice('table '.length)
    const prefix = `column ${name}.`
    const columns = syncComments
      .filter(([column]) => column.startsWith(prefix))
      .map(([column, text]) => [code(column.slice(prefix.length)), text])
    return [`### ${name}`, comment, table(['column', 'meaning'], columns)].join('\n\n')
  })
}

const functionSection = (): string =>
  syncComments
    .filter(([subject]) => subject.startsWith('function '))
    .map(([subject, comment]) => `- ${code(subject.slice('function '.length))}: ${comment}`)
    .join('\n')

/** The whole document. */
export function schemaDocument(): string {
  const bookkeeping = Object.entries(bookkeepingComments).map(([name, text]) => [
    code(name),
    bookkeepingTypes[name] ?? '',
    text,
  ])
  const sections = [
    introduction,
    '## Columns of every mirror table',
    table(['column', 'type', 'meaning'], bookkeeping),
    '## Tables of the mirror',
    ...streams.map(streamSection),
    '## The change log and the state of syncing',
    ...otherSections(),
    '## Functions',
    functionSection(),
  ]
  return `${sections.join('\n\n')}\n`
}
