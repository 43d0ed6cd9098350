// A name that there is not is refused wherever one is given: it would be an empty answer, or changes that nobody saw.

import { describe, expect, it } from 'vitest'
import { createSandbox } from '../sandbox/index.ts'
import { kyselyOn } from '../src/database/sql.ts'
import { changes, type FeedOptions, openMirror } from '../src/index.ts'
import { createTestDatabase } from './helpers/database.ts'
import { opened } from './helpers/opened.ts'

const database = opened(createTestDatabase)
const sandbox = opened(() => createSandbox({ size: 1 }))
const mirror = opened(() =>
  openMirror({ databaseUrl: database.url, apiBaseUrl: sandbox.url, apiAuth: 'none', logLevel: 'silent' }),
)

describe('the feed for a program', () => {
  const open = (options: object) => () => changes(kyselyOn(database.pool), options as FeedOptions)
  it('names the stream that was meant', () => {
    expect(open({ streams: ['rentals', 'rental'] })).toThrow('There is no stream "rental" (did you mean rentals?).')
    expect(() => mirror.changes({ streams: ['boats'] })).toThrow('There is no stream "boats".')
  })
  it('takes no empty list, which would acknowledge everything', () => {
    expect(open({ consumer: 'crm', streams: [] })).toThrow('streams is an empty list')
  })
  it('takes no option of another name', () => {
    expect(open({ consumer: 'crm', stream: ['rentals'] })).toThrow('stream is not an option (did you mean streams?).')
  })
})

it('the calls of a mirror take no option of another name, and no stream that there is not', async () => {
  await expect(mirror.sync({ stream: ['rentals'] } as object)).rejects.toThrow('did you mean streams?')
  await expect(mirror.sync({ streams: ['rental'] })).rejects.toThrow('did you mean rentals?')
  await expect(mirror.refresh('rentals', { keys: { id: 1 } } as object)).rejects.toThrow('did you mean key?')
  await expect(mirror.refresh('rental')).rejects.toThrow('did you mean rentals?')
  await expect(mirror.refresh('rentals', { key: { idd: 1 } })).rejects.toThrow('{"id": …}')
  await expect(mirror.push({ limit: 1 } as object)).rejects.toThrow('limit is not an option.')
})

it('functions for SQL refuse a stream, a key or a consumer that there is not', async () => {
  const refused: Readonly<Record<string, string>> = {
    "mirror.refresh('rental')": "There is no stream 'rental'.",
    "mirror.refresh('rentals', '{\"idd\": 1}')": '{"id": …}',
    "mirror.history('rental', '{}')": "There is no stream 'rental'.",
    "mirror.history('rentals', '{\"idd\": 1}')": 'It must be an object with the members',
    'mirror.history(\'rentals\', \'{"id": 1, "idd": 1}\')': 'It must be an object with the members',
    "mirror.ack_changes('crm', '1.1.0.1')": "There is no consumer 'crm'",
    "mirror.drop_consumer('crm')": "There is no consumer 'crm'",
    "outbox.enqueue('rental.updat', '{}', '{}')": 'rental.updat',
  }
  for (const [call, words] of Object.entries(refused))
    await expect(database.pool.query(`select ${call}`), call).rejects.toThrow(words)
})
