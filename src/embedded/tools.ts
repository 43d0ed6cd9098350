// Runs one of Postgres's own programs to its end, as the account Postgres runs as, and collects what it says.

import { spawn } from 'node:child_process'
import { type BoatMirrorError, messageOf } from '../errors.ts'
import { unavailable } from './failures.ts'
import type { Identity } from './identity.ts'

type ToolResult = { readonly code: number | null; readonly output: string }

/** What the server may know of our environment: no PG* variables that would mislead it, and none of our secrets. */
const passedOn = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot']

/**
 * Runs a program in `folder` and waits for its end. It has a separate session, so that Ctrl-C reaches only us.
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE when it cannot be started at all.
 */
export function runTool(
  program: string,
  args: readonly string[],
  options: { readonly identity: Identity; readonly folder: string },
): Promise<ToolResult> {
  const { identity, folder } = options
  const env = Object.fromEntries(passedOn.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
  const failed = (cause: unknown): BoatMirrorError => {
    const who = identity === null ? '' : ` as ${identity.name}`
    return unavailable(`${program} cannot be run${who}: ${messageOf(cause)}`, 'Start as another user', cause)
  }
  return new Promise((resolve, reject) => {
    let output = ''
    const collect = (chunk: Buffer): void => {
      output += chunk.toString('utf8')
    }
    try {
      const child = spawn(program, args, {
        cwd: folder,
        env: { ...env, LC_ALL: 'C' },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
        windowsHide: true,
        ...(identity === null ? {} : { uid: identity.uid, gid: identity.gid }),
      })
      child.stdout.on('data', collect)
      child.stderr.on('data', collect)
      child.on('error', (cause) => reject(failed(cause)))
      child.on('close', (code) => resolve({ code, output }))
    } catch (cause) {
      reject(failed(cause)) // spawn throws where it may not change the user
    }
  })
}
