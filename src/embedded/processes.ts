// Tells processes of the server of one database folder from others, for numbers found in a pid file.
// Only Linux shows this (/proc); elsewhere the number decides.

import { readdirSync, readlinkSync } from 'node:fs'
import { processToken, readProc } from './liveness.ts'

/** False when this process is dead, or known to be something else than the server of this folder. */
export function isPostmaster(pid: number, folder: string): boolean {
  if (processToken(pid) === null) return false
  const name = nameOf(pid)
  if (name === null) return true // no way to ask: better wait in vain than start a second server
  return name === 'postgres' && worksIn(pid, folder) !== false
}

/** Living processes of a server whose head died: they end by themselves, and no new server may start before. */
export function survivors(folder: string): number[] {
  if (nameOf(process.pid) === null) return [] // there Postgres finds out by its shared memory
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => nameOf(pid) === 'postgres' && worksIn(pid, folder) && processToken(pid) !== null)
}

function nameOf(pid: number): string | null {
  return readProc(`${pid}/comm`)?.trim() ?? null
}

/** Whether the folder is the process's working directory, as it is of every process of a server; null: not ours to know. */
function worksIn(pid: number, folder: string): boolean | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder
  } catch {
    return null // gone meanwhile, or hidden (root without CAP_SYS_PTRACE sees its own only)
  }
}
