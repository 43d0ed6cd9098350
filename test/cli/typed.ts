// A command on a real terminal, which the program `script` gives: what a person sees, and answers to what is asked.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'

type Typed = { readonly code: number | null; readonly screen: string }

type Terminal = {
  /** Path of `script`. */
  readonly script: string
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** What is waited for on the screen, in order, and the keys that are typed then. */
  readonly keys: readonly (readonly [prompt: string, keys: string])[]
}

/** Runs the built program on a terminal to its end. The shell below adds whether the terminal still echoes. */
export async function runOnTerminal(
  args: readonly string[],
  { script, folder, env, keys }: Terminal,
): Promise<Typed & { readonly echoes: boolean }> {
  const command = `${process.execPath} ${resolve('dist/src/cli/main.js')} ${args.join(' ')}; code=$?; stty -a; exit $code`
  const child = spawn(script, ['-qefc', command, '/dev/null'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, SHELL: '/bin/sh', COLUMNS: '200', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let [screen, seen] = ['', 0]
  const left = [...keys]
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    screen += chunk
    for (const [prompt, typed] of [...left]) {
      const at = screen.indexOf(prompt, seen)
      if (at < 0) return
      seen = at + prompt.length
      left.shift()
      child.stdin.write(typed)
    }
  })
  await once(child, 'close')
  return { code: child.exitCode, screen, echoes: /[ ;]echo[ ;]/.test(screen) }
}
