// The sandbox in place of an API that is not configured: one for each DATA_DIR, run by the first command that needs
// it, used by the others, and taken over by one of them when the first ends.

import { join } from 'node:path'
import { sleep } from '../../clock.ts'
import { findFreePort } from '../../embedded/connection.ts'
import { withLock } from '../../embedded/lock.ts'
import { isAlive, ownToken } from '../../embedded/processes.ts'
import { BoatMirrorError, messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { service } from '../../service.ts'
import { keepWorld, knownSandbox, type SandboxFile, savedWorld, writeSandboxFile } from './file.ts'

type AttachedSandbox = {
  /** Root of the API, without `/v3`. */
  readonly url: string
  /** Stops the sandbox if it runs in this process. May be called twice. */
  close(): Promise<void>
}

type Hosted = { readonly url: string; readonly stop: () => Promise<void> }

const takeOverMs = 500
/** A living owner that does not answer for this long is given up. */
const ownerPatienceMs = 10_000

/** The errors of a file system that cannot be written; ENOENT also for one mounted read-only. */
const notWritable = /^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR|ENOSPC|EDQUOT)$/

/** The sandbox is what runs where no API is named: in a container, mostly by oversight. */
function explained(error: unknown, dataDir: string): unknown {
  if (!notWritable.test((error as NodeJS.ErrnoException).code ?? '')) return error
  return new BoatMirrorError(
    'CONFIG_INVALID',
    `API_BASE_URL is not set, so the built-in sandbox is used, but it cannot write to DATA_DIR (${dataDir}): ${messageOf(error)}`,
    {
      remedy: 'Set API_BASE_URL to the root of the API, or DATA_DIR to a writable folder with some free space.',
      cause: error,
    },
  )
}

/** Attaches to the sandbox of a DATA_DIR, or runs it in this process. @throws BoatMirrorError CONFIG_INVALID if it is not writable */
export async function attachSandbox(dataDir: string, log: Logger): Promise<AttachedSandbox> {
  let hosted = await openOnce(dataDir, log).catch((error: unknown) => {
    throw explained(error, dataDir)
  })
  const { url } = hosted
  // The process that runs the sandbox may end before us; its address stays the same, so the API client notices only a
  // pause.
  const takeOver = async (): Promise<void> => {
    if (hosted.stop !== nothing) return
    const known = await knownSandbox(dataDir)
    if (known !== null && isAlive(known.owner)) return
    hosted = await openOnce(dataDir, log)
    if (hosted.url !== url)
      log.warn(
        { event: 'sandbox_moved', url: hosted.url },
        'the built-in sandbox moved to another port: restart this process',
      )
  }
  const timing = { log, delayMs: takeOverMs, isBackground: true }
  const watch =
    hosted.stop === nothing ? service('taking over the built-in sandbox', takeOverMs, takeOver, timing) : undefined
  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await watch?.stop()
    await hosted.stop()
  }
  return {
    url,
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

/** Owner of a sandbox that was stopped: no living process has this mark. */
const nobody = ''

const nothing = async (): Promise<void> => {}

/** Finds the running sandbox, or runs it; one process at a time decides. */
function openOnce(dataDir: string, log: Logger): Promise<Hosted> {
  return withLock(join(dataDir, 'sandbox-lock'), async () => {
    const known = await knownSandbox(dataDir)
    if (known !== null && (await isRunning(known))) return { url: known.url, stop: nothing }
    return await host(dataDir, known, log)
  })
}

async function isRunning(known: SandboxFile): Promise<boolean> {
  for (let waitedMs = 0; isAlive(known.owner) && waitedMs < ownerPatienceMs; waitedMs += takeOverMs) {
    if (await answers(known.url)) return true
    await sleep(takeOverMs)
  }
  return false
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(new URL('/_sandbox/clock', url), { signal: AbortSignal.timeout(2_000) })
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    return false // refused, or too slow: the caller asks again
  }
}

/** Runs the sandbox here, with the world as it was left. */
async function host(dataDir: string, known: SandboxFile | null, log: Logger): Promise<Hosted> {
  // Most commands have an API, or find the sandbox running: they do without its 700 modules.
  const { createSandbox } = await import('../../../sandbox/index.ts')
  const port = await findFreePort(known?.port)
  const sandbox = await createSandbox({ port }, await savedWorld(dataDir))
  try {
    const world = keepWorld(dataDir, sandbox, log)
    const file = { url: sandbox.url, port: sandbox.port }
    await writeSandboxFile(dataDir, { ...file, owner: ownToken() })
    log.debug({ event: 'sandbox_started', url: sandbox.url }, 'the built-in sandbox is running')
    const stop = async (): Promise<void> => {
      await sandbox.close()
      await world.stop()
      // The mark of this process counts for nothing once it has ended.
      await writeSandboxFile(dataDir, { ...file, owner: nobody }).catch(() => undefined)
    }
    return { url: sandbox.url, stop }
  } catch (error) {
    await sandbox.close()
    throw error
  }
}
