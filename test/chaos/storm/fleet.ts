// Workers as processes of their own, the program as `boat-mirror worker` runs it: killed, paused, started again as a
// supervisor would, watched for crashes and for memory.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sleep } from '../../../src/clock.ts'

const program = resolve('dist/src/cli/main.js')
/** A supervisor starts what has ended again after this. */
const restartMs = 500
const stopLimitMs = 30_000

type Environment = Readonly<Record<string, string>>

/** Runs one command of the program to its end. */
export async function runCommand(
  args: readonly string[],
  env: Environment,
): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, [program, ...args], { env: baseEnvironment(env), cwd: '/', stdio: 'pipe' })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString('utf8')).slice(-8_000)
    })
  await once(child, 'close')
  return { code: child.exitCode, text }
}

const baseEnvironment = (env: Environment) => ({ PATH: process.env.PATH, HOME: process.env.HOME, ...env })

type Worker = {
  readonly name: string
  child: ChildProcess
  /** What it has said, on both channels. */
  logFile: string
  /** Killed or stopped by us: its end is no crash. */
  expected: boolean
  ended: Promise<unknown>
}

export type Fleet = ReturnType<typeof startFleet>

/** The last line of a program that cannot start names a code; these say that a service it needs is out. */
const serviceOut = /"event":"command_failed","code":"(DATABASE|QUEUE)_\w+"/

export type FleetOptions = {
  readonly size: number
  readonly env: Environment
  /** For the logs of the workers, and the file of settings they share. */
  readonly folder: string
  /** Intervals by stream. */
  readonly schedules: Readonly<Record<string, string>>
}

/** Starts workers. */
export function startFleet({ size, env, folder, schedules }: FleetOptions) {
  const settings = join(folder, 'boat-mirror.yaml')
  writeFileSync(settings, JSON.stringify({ schedules })) // JSON is YAML
  const crashes: string[] = []
  const workers: Worker[] = []
  let stopping = false
  let refusals = 0
  let starts = 0
  let peakKb = 0

  const launch = (name: string): Worker => {
    const logFile = join(folder, `${name}-${++starts}.log`)
    const out = openSync(logFile, 'w')
    const child = spawn(process.execPath, [program, 'worker'], {
      env: baseEnvironment({ ...env, BOAT_MIRROR_CONFIG: settings }),
      cwd: '/',
      stdio: ['ignore', out, out],
    })
    closeSync(out)
    return { name, child, logFile, expected: false, ended: once(child, 'close') }
  }

  const supervise = async (worker: Worker): Promise<void> => {
    while (!stopping) {
      await worker.ended
      if (stopping) return
      if (!worker.expected) {
        const said = readFileSync(worker.logFile, 'utf8').trim()
        const isUp = said.includes('Pages ')
        if (!isUp && serviceOut.test(said)) refusals++
        else {
          const how = worker.child.signalCode ?? `code ${worker.child.exitCode}`
          crashes.push(
            `${worker.name} ended by itself with ${how}, ${isUp ? 'while at work' : 'at its start'}: ${said.slice(-1_500)}`,
          )
        }
        await sleep(restartMs)
        if (stopping) return
        Object.assign(worker, launch(worker.name))
      } else await sleep(50) // `kill` starts it again
    }
  }
  for (let place = 0; place < size; place++) {
    const worker = launch(`worker ${place + 1}`)
    workers.push(worker)
    void supervise(worker)
  }

  const sampleMemory = (): void => {
    for (const { child } of workers) {
      const file = `/proc/${child.pid}/status`
      if (child.exitCode !== null || child.signalCode !== null || !existsSync(file)) continue
      peakKb = Math.max(peakKb, Number(/VmRSS:\s+(\d+)/.exec(readFileSync(file, 'utf8'))?.[1] ?? 0))
    }
  }
  const sampling = setInterval(sampleMemory, 500)
  /** A campaign that is broken off leaves no process behind. */
  const killAll = (): void => {
    for (const { child } of workers) child.kill('SIGKILL')
  }
  process.once('exit', killAll)

  const pick = (dice: number): Worker | undefined => workers[Math.floor(dice * workers.length)]
  return {
    /** What went wrong so far: workers that ended although nothing stopped them. */
    crashes,
    /** How often a worker refused to start, with the error said, because the database or the queue was out. */
    refusals: () => refusals,
    /** The largest resident set of a worker seen, in megabytes; null where /proc is missing. */
    peakMb: () => (peakKb === 0 ? null : Math.round(peakKb / 1024)),
    /** SIGKILL, and a new one after `downMs`. */
    kill: async (dice: number, downMs: number): Promise<void> => {
      const worker = pick(dice)
      if (worker === undefined || worker.child.exitCode !== null) return
      worker.expected = true
      worker.child.kill('SIGKILL')
      await worker.ended
      await sleep(downMs)
      if (!stopping) Object.assign(worker, launch(worker.name))
    },
    /** SIGSTOP, and SIGCONT after `ms`. */
    pause: async (dice: number, ms: number): Promise<void> => {
      const { child } = pick(dice) ?? {}
      child?.kill('SIGSTOP')
      await sleep(ms)
      child?.kill('SIGCONT')
    },
    /** SIGTERM to all. Returns what went wrong with that. */
    stop: async () => {
      stopping = true
      clearInterval(sampling)
      const problems: string[] = []
      for (const { child } of workers) child.kill('SIGTERM')
      await Promise.all(
        workers.map(async ({ name, child, ended, logFile }) => {
          const waiting = new AbortController()
          const late = sleep(stopLimitMs, waiting.signal).then(
            () => false,
            () => true, // it ended before
          )
          const inTime = await Promise.race([ended.then(() => true), late])
          waiting.abort()
          if (!inTime) {
            child.kill('SIGKILL')
            await ended
            problems.push(`${name} did not stop within ${stopLimitMs / 1_000} s of SIGTERM`)
          } else if (child.exitCode !== 0)
            problems.push(
              `${name} ended SIGTERM with ${child.signalCode ?? child.exitCode}: ${readFileSync(logFile, 'utf8').slice(-1_000)}`,
            )
        }),
      )
      process.off('exit', killAll)
      return problems
    },
  }
}
