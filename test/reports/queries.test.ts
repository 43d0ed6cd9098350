// Every query of docs/queries.md, run against a mirror of the sandbox, so that none of them rots. The dates of the sandbox
// move with the calendar, so the answers differ from day to day: compared is what does not, the columns and that there
// are rows. With UPDATE_DOCS=1 the document gets today's answers.

import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { table } from '../../src/cli/terminal/output.ts'
import { wantedIntervals } from '../../src/jobs/schedule.ts'
import { saveIntervals } from '../../src/state/stream-state.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const path = new URL('../../docs/queries.md', import.meta.url)
const updating = process.env.UPDATE_DOCS === '1'

type Question = { readonly title: string; readonly sql: string; readonly output: string }

/** Questions of the document: heading, query, the block of output behind it. */
function questionsOf(text: string): readonly Question[] {
  const pattern =
    /^### (?<title>\d+\. .+)\n[\s\S]*?```sql\n(?<sql>[\s\S]*?)```\n(?:\n```text\n(?<output>[\s\S]*?)```\n)?/gm
  return [...text.matchAll(pattern)].map(({ groups }) => ({
    title: groups?.title ?? '',
    sql: groups?.sql ?? '',
    output: groups?.output ?? '',
  }))
}

const document = readFileSync(path, 'utf8')
const questions = questionsOf(document)
const answers = new Map<string, string>()

let mirror: TestMirror
beforeAll(async () => {
  mirror = await openTestMirror({ size: updating ? 200 : 60 }, { PRICE_DAYS: '28', SLOT_DAYS: '0' })
  // As a worker would have set them: without a schedule nothing can be late.
  const intervals = [...wantedIntervals(mirror.config)].map(([stream, ms]) => ({
    stream,
    intervalS: ms / 1_000,
    targetS: null,
  }))
  await saveIntervals(mirror.app.database.pool, intervals)
  for (const run of await mirror.sync()) expect(run.status, run.stream).toBe('done')
})
afterAll(async () => {
  await mirror[Symbol.asyncDispose]()
  if (!updating) return
  const filled = questions.reduce((text, { sql }) => {
    const block = `\`\`\`sql\n${sql}\`\`\`\n`
    const [before = '', after = ''] = text.split(block)
    const rest = after.replace(/^\n```text\n[\s\S]*?```\n/, '')
    return `${before}${block}\n\`\`\`text\n${answers.get(sql) ?? ''}\n\`\`\`\n${rest}`
  }, document)
  writeFileSync(path, filled)
})

/** A query's answer as texts, as the command line would show it. */
async function ask(sql: string): Promise<{ readonly columns: readonly string[]; readonly rows: readonly string[][] }> {
  const query = sql.trim().replace(/;$/, '')
  const head = await mirror.app.database.pool.query(`select * from (${query}) q limit 0`)
  const columns = head.fields.map(({ name }) => name)
  const list = columns.map((name) => `coalesce(q."${name}"::text, '')`)
  const { rows } = await mirror.app.database.pool.query<{ cells: string[] }>(
    `select array[${list.join(', ')}] as cells from (${query}) q`,
  )
  return { columns, rows: rows.map(({ cells }) => cells) }
}

/** Rows that a small world may not have at every season: somebody must be about to depart, or to have come back. */
const seasonal = [2, 7, 10, 13, 14, 16]

describe('docs/queries.md', () => {
  it('has twenty questions, each with its answer', () => {
    expect(questions.map(({ title }) => Number.parseInt(title, 10))).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    )
    if (!updating) expect(questions.filter(({ output }) => output === '')).toEqual([])
  })

  for (const { title, sql, output } of questions)
    it(`${title} is answered`, async () => {
      const { columns, rows } = await ask(sql)
      answers.set(sql, table(columns, rows))
      if (!seasonal.includes(Number.parseInt(title, 10))) expect(rows.length).toBeGreaterThan(0)
      if (!updating) expect(output.split('\n')[0]?.split(/ {2,}/)).toEqual(columns)
    })
})
