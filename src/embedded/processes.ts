// Checks whether a process that left its mark in a file is still the same living process, also when its number was
// reused meanwhile (containers start counting at 1 again), and whether a number found in a pid file is that of the
// server of one database folder. Only Linux shows this (/proc); elsewhere the number decides.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A mark for a living process, to write into a file; null when the process does not exist (or is only a zombie). */
export function processToken(pid: number): string | null {
  if (!isTaken(pid)) return null
  const stat = readProc(`${pid}/stat`)
  if (stat === null) return `${pid}`
  // After the name in parentheses: state (field 3) … start time in clock ticks since boot (field 22) [man proc_pid_stat]
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields[0] === 'Z' || fields[0] === 'X') return null
  return `${pid} ${fields[19] ?? ''} ${readProc('sys/kernel/random/boot_id')?.trim() ?? ''}`
}

export function ownToken(): string {
  return processToken(process.pid) ?? `${process.pid}`
}

/** True while the process that wrote this mark lives. Where the system shows no start time, the number decides. */
export function isAlive(token: string): boolean {
  const pid = Number(token.split(' ')[0])
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  const current = processToken(pid)
  return current !== null && (current === token || current === `${pid}`)
}

/** True when this process number is in use, even by a zombie. */
export function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // alive, and another user's
  }
}

/** A file below /proc; null where there is none, or where it is hidden from us. */
function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return null
  }
}

/** False when this process is dead, or known to be something else than the server of this folder. */
export function isPostmaster(pid: number, folder: string): boolean {
  if (processToken(pid) === null) return false
  const name = nameOf(pid)
  if (name === null) return true // unknown: better to wait unnecessarily than to start a second server
  return name === 'postgres' && worksIn(pid, folder) !== false
}

/** Living processes of a server whose head died: they will end, and no new server may start before. */
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
