// `boat-mirror/sandbox`: the imitation API in a program's own tests.

import { createSandbox, type Sandbox, type SandboxOptions } from './index.ts'

export type { Change, FaultRule, LoggedRequest, SandboxOptions, Stats, TruthOptions, TruthRow } from './index.ts'

/** What a test can do to a sandbox besides calling the API: change records, make faults, see the requests, know the truth. */
export type SandboxControl = Omit<Sandbox, 'url' | 'port' | 'save' | 'close' | typeof Symbol.asyncDispose>

export type RunningSandbox = {
  /** Give it as `apiBaseUrl`. */
  readonly url: string
  readonly control: SandboxControl
  close(): Promise<void>
}

/** Serves an imitation of the whole API on a free port of this machine. */
export async function startSandbox(options: Partial<SandboxOptions> = {}): Promise<RunningSandbox> {
  const { url, port: _port, save: _save, close, ...control } = await createSandbox(options)
  return { url, control, close }
}
