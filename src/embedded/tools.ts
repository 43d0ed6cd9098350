// Runs Postgres's own programs as the account Postgres runs as.

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { messageOf } from '../errors.ts'
import { unavailable } from './failures.ts'
import type { Identity } from './identity.ts'

type ToolResult = { readonly code: number | null; readonly output: string }

/** What the server may know of our environment: no PG* variables that would mislead it, and none of our secrets. */
const passedOn = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot']

type Options = { readonly identity: Identity; readonly folder: string; readonly output?: StdioOptions }

/**
 * Starts a program in `folder`, without a shell. It has a separate session, so that Ctrl-C reaches only us.
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE when it cannot be started at all.
 */
export async function startTool(
  program: string,
  args: readonly string[],
  { identity, folder, output = ['ignore', 'pipe', 'pipe'] }: Options,
): Promise<ChildProcess> {
  const env = Object.fromEntries(passedOn.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
  try {
    const child = spawn(program, args, {
      cwd: folder,
      env: { ...env, LC_ALL: 'C' },
      stdio: output,
      detached: true,
      windowsHide: true,
      ...(identity === null ? {} : { uid: identity.uid, gid: identity.gid }),
    })
    await once(child, 'spawn')
    return child
  } catch (cause) {
    // spawn throws where it may not change the user
    const who = identity === null ? '' : ` as ${identity.name}`
    throw unavailable(`${program} cannot be run${who}: ${messageOf(cause)}`, 'Start as another user', cause)
  }
}

/** Runs a program as {@link startTool} does, and waits for its end. */
export async function runTool(program: string, args: readonly string[], options: Options): Promise<ToolResult> {
  const child = await startTool(program, args, options)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
