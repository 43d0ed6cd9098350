// What a bench process reports of itself. Each piece of work is measured inside its own process, from the moment it is ready
// to start, so that no start-up is compared with work.

export type Measured = {
  /** Wall time in milliseconds. */
  readonly ms: number
  /** Processor time of the process, user and system, in seconds. */
  readonly cpuS: number
  /** Largest resident set of the whole process, in MB. */
  readonly peakMb: number
}

/** Runs the work and measures it. */
export async function measure<T extends object>(work: () => Promise<T>): Promise<T & Measured> {
  const cpu = process.cpuUsage()
  const began = performance.now()
  const result = await work()
  const ms = performance.now() - began
  const used = process.cpuUsage(cpu)
  return { ...result, ms, cpuS: (used.user + used.system) / 1e6, peakMb: process.resourceUsage().maxRSS / 1024 }
}

/** The one argument of a bench process: JSON. */
export const options = <T>(): T => JSON.parse(process.argv[2] ?? '{}') as T

/** Says something to the process that started this one: a line of JSON. */
export const tell = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`)
