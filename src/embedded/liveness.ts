// Tells whether a process that left its mark in a file is still the same living process, also when its number
// was given to another one meanwhile (containers start counting at 1 again).

import { readFileSync } from 'node:fs'

/** A mark for a living process, to be written into a file; null when there is no such process (or only a zombie). */
export function processToken(pid: number): string | null {
  if (!isTaken(pid)) return null
  const stat = readProc(`${pid}/stat`)
  if (stat === null) return `${pid}`
  // After the name in parentheses: state (field 3) … start time in clock ticks since boot (field 22) [man proc_pid_stat]
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields[0] === 'Z' || fields[0] === 'X') return null
  return `${pid} ${fields[19] ?? ''} ${readProc('sys/kernel/random/boot_id')?.trim() ?? ''}`
}

/** The mark of this process. */
export function ownToken(): string {
  return processToken(process.pid) ?? `${process.pid}`
}

/** True while the process that wrote this mark lives. Where the system tells no start time, the number decides. */
export function isAlive(token: string): boolean {
  const pid = Number(token.split(' ')[0])
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  const current = processToken(pid)
  return current !== null && (current === token || current === `${pid}`)
}

/** True when this process number is in use, be it by a zombie. */
export function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // alive, and somebody else's
  }
}

/** A file below /proc; null where there is none, or where it is hidden from us. */
export function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return null
  }
}
