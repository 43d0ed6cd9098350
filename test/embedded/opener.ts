// The process that tests of the embedded Postgres start, kill and interrupt: opens the database of the folder it is
// given, prints one line of JSON, and closes it on "close" from stdin, or on SIGINT or SIGTERM.

import { once } from 'node:events'
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { createLogger } from '../../src/log.ts'

async function main(dataDir: string): Promise<void> {
  const told = Promise.race([once(process.stdin, 'data'), once(process, 'SIGINT'), once(process, 'SIGTERM')])
  const server = await openEmbeddedPostgres({ dataDir, log: createLogger('warn'), settings: { fsync: 'off' } })
  const { url, startedHere, location } = server
  process.stdout.write(`${JSON.stringify({ url, startedHere, location })}\n`)
  await told
  await server.close()
  process.stdout.write('closed\n')
  process.exit(0)
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  if (!(error instanceof BoatMirrorError)) throw error
  process.stdout.write(`${JSON.stringify({ code: error.code, message: error.message })}\n`)
  process.exit(1)
})
