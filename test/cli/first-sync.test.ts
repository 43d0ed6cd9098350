// What a worker shows of its first sync never ends it.

import { expect, it } from 'vitest'
import { watchFirstSync } from '../../src/cli/terminal/progress.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/database.ts'
import { closedPort } from '../api/http-server.ts'
import { recordingLog } from '../api/recording-log.ts'

it('a database that is out in the moment in which the first sync is looked for is a warning', async () => {
  const { log, lines } = recordingLog()
  const url = `postgres://nobody@127.0.0.1:${await closedPort()}/none`
  const database = openDatabase({ url, applicationName: 'test', max: 1, log })
  try {
    await watchFirstSync({ database, settings: readConfig({}), signal: new AbortController().signal, log })
    expect(lines).toContainEqual(expect.objectContaining({ event: 'first_sync_not_watched' }))
  } finally {
    await database.close()
  }
})
