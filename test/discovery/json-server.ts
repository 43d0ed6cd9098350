// json-server (npm) as a process of its own: a REST server that others wrote, with pages, links and totals of its own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { closedPort } from '../api/http-server.ts'

/** Collections by name, as json-server keeps them; `/v3/users/1` is the record of `users` with this id. */
export type Collections = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>

export type JsonServer = AsyncDisposable & {
  readonly url: string
  /** What it holds now. */
  collections(): Promise<Collections>
}

const program = resolve('node_modules/json-server/lib/cli/bin.js')
const startsWithinMs = 30_000

/** Starts it on a free port of 127.0.0.1, below `/v3`. */
export async function startJsonServer(collections: Collections): Promise<JsonServer> {
  const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-json-server-'))
  const [data, routes] = [join(folder, 'db.json'), join(folder, 'routes.json')]
  await writeFile(data, JSON.stringify(collections))
  await writeFile(routes, JSON.stringify({ '/v3/*': '/$1' }))
  const port = await closedPort()
  const where = ['--host', '127.0.0.1', '--port', String(port)]
  const child = spawn(process.execPath, [program, ...where, '--routes', routes, '--quiet', data], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  const dispose = async (): Promise<void> => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'close')
    await rm(folder, { recursive: true, force: true })
  }
  const deadline = Date.now() + startsWithinMs
  while (!(await fetch(`${url}/db`).catch(() => null))?.ok) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await dispose()
      throw new Error('json-server does not answer')
    }
    await sleep(50)
  }
  return {
    url,
    collections: async () => JSON.parse(await readFile(data, 'utf8')) as Collections,
    [Symbol.asyncDispose]: dispose,
  }
}
