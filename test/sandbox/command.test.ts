// The sandbox as a command: its flags, its one line, its end.

import { describe, expect, it } from 'vitest'
import { Usage } from '../../src/cli/usage/command.ts'
import { addSandbox } from '../../src/cli/usage/sandbox.ts'
import { buildProgram, startProgram } from '../helpers/child-program.ts'
import { openSandbox } from './client.ts'

describe('the command', () => {
  it('serves as its flags say, prints its address in one line and ends cleanly on a signal', async () => {
    await using program = await buildProgram('test/sandbox/sandbox-program.ts')
    const flags = '--port 0 --size 5 --envelope items --page-base 0 --summary --no-totals'.split(' ')
    const fault = '{"op":"GET /v3/types","respond":{"status":418}}'
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const child = startProgram(program.file, ['sandbox', ...flags, '--fault', fault, '--json'])
      try {
        const { url } = JSON.parse(await child.nextLine()) as { url: string }
        const response = await fetch(`${url}/v3/users?page=0&perPage=1`)
        const { items } = (await response.json()) as { items: object[] }
        expect(items).toHaveLength(1)
        expect(items[0]).not.toHaveProperty('birthDate')
        expect((await fetch(`${url}/v3/types`)).status).toBe(418)
        expect(await child.end(signal)).toBe(0)
      } finally {
        await child.end('SIGKILL')
      }
    }
  })

  it('says in one message that a port is taken, and ends with 2', async () => {
    await using program = await buildProgram('test/sandbox/sandbox-program.ts')
    await using sandbox = await openSandbox({ size: 5 })
    const child = startProgram(program.file, ['sandbox', '--port', String(sandbox.port)])
    await expect(child.nextLine()).rejects.toThrow(/cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\)/)
    expect(await child.end()).toBe(2)
  })

  /** Parses a command line; the message of what is wrong with it. */
  async function wrongUsage(...flags: string[]): Promise<string> {
    const program = new Usage().exitOverride()
    const said: string[] = []
    addSandbox(program)
    const writeErr = (text: string): void => {
      said.push(text)
    }
    for (const command of program.commands) command.exitOverride().configureOutput({ writeErr })
    await expect(program.parseAsync(['sandbox', ...flags], { from: 'user' })).rejects.toThrow()
    return said.join('')
  }

  it('says what a wrong flag takes', async () => {
    expect(await wrongUsage('--paging', 'scroll')).toContain('Allowed choices are page, offset, cursor, link')
    expect(await wrongUsage('--fault', '{"op":"*","respond":"explode"}')).toContain('respond must be')
    expect(await wrongUsage('--fault', 'nonsense')).toContain('--fault')
    expect(await wrongUsage('--now', 'noon')).toContain('date-time')
    expect(await wrongUsage('--size', '-1')).toContain('whole number')
  })

  it('describes every flag with its default', () => {
    const program = new Usage()
    addSandbox(program)
    const help = program.commands[0]?.helpInformation() ?? ''
    for (const flag of [
      '--port',
      '--seed',
      '--auth',
      '--envelope',
      '--no-touch',
      '--rate-limit',
      '--fault',
      '--json',
    ]) {
      expect(help).toContain(flag)
    }
    expect(help).toContain('(default: 8080)')
  })
})
