// `sandbox`: serves the imitation API until a signal; every choice of the sandbox is a flag.

import { once } from 'node:events'
import { createSandbox, type FaultRule, type SandboxOptions } from '../../../sandbox/index.ts'
import { BoatMirrorError } from '../../errors.ts'
import type { CommandContext, Json } from '../context.ts'
import { print } from '../terminal/output.ts'

/** What commander makes of the flags; times in milliseconds. */
type Flags = Json &
  Omit<SandboxOptions, 'now' | 'pageBase' | 'totalHeader' | 'latencyMs' | 'jitterMs' | 'faults'> & {
    readonly port: number
    readonly host: string
    readonly now?: Date
    readonly pageBase: '0' | '1'
    readonly totalHeader?: string
    readonly latency: number
    readonly jitter: number
    readonly fault: readonly FaultRule[]
  }

function optionsOf(flags: Flags): SandboxOptions {
  const { now, pageBase, totalHeader, latency, jitter, fault, json: _json, ...same } = flags
  return {
    ...same,
    now: now ?? null,
    pageBase: pageBase === '0' ? 0 : 1,
    totalHeader: totalHeader ?? null,
    latencyMs: latency,
    jitterMs: jitter,
    faults: fault,
  }
}

/** A start that failed in the words of the command line. */
function startFailure(error: unknown, { host, port }: Flags): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (error instanceof RangeError) return new BoatMirrorError('USAGE', error.message, { cause: error })
  if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') return error
  return new BoatMirrorError('USAGE', `The sandbox cannot listen on ${host}:${port} (${code}).`, {
    remedy: 'Choose another port with --port; 0 means any free one.',
    cause: error,
  })
}

/** Serves until the signal; prints the address, or `{"url": …}`, as one line on stdout once it answers. */
export async function runSandbox({ signal }: CommandContext, flags: Flags): Promise<void> {
  await using sandbox = await createSandbox(optionsOf(flags)).catch((error: unknown) => {
    throw startFailure(error, flags)
  })
  print(flags.json ? JSON.stringify({ url: sandbox.url }) : `The sandbox is running at ${sandbox.url}`)
  if (!signal.aborted) await once(signal, 'abort')
}
