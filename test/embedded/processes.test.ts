// Several processes on one embedded database: who starts it, who stops it, and what a kill leaves behind.

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { buildProgram, type Child, type Program, startProgram } from '../helpers/child-program.ts'
import { answers, ask, type Folder, makeFolder } from './folders.ts'

type Opened = { readonly url: string; readonly startedHere: boolean }

let program: Program
let folder: Folder
const children: Child[] = []

beforeAll(async () => {
  program = await buildProgram('test/embedded/opener.ts')
  folder = await makeFolder()
})

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.end('SIGTERM')))
})

afterAll(async () => {
  await folder[Symbol.asyncDispose]()
  await program[Symbol.asyncDispose]()
})

function start(options: { group?: boolean } = {}): Child {
  const child = startProgram(program.file, [folder.path], options)
  children.push(child)
  return child
}

async function opened(child: Child): Promise<Opened> {
  return JSON.parse(await child.nextLine()) as Opened
}

async function close(child: Child): Promise<void> {
  child.process.stdin?.write('close\n')
  expect(await child.end()).toBe(0)
}

it('commands that start at the same moment share one server, and the last one out stops it', async () => {
  const all = [start(), start(), start(), start()]
  const results = await Promise.all(all.map(opened))
  expect(results.filter(({ startedHere }) => startedHere)).toHaveLength(1)
  expect(new Set(results.map(({ url }) => url)).size).toBe(1)
  const url = results[0]?.url ?? ''

  const starter = results.findIndex(({ startedHere }) => startedHere)
  const [last, ...others] = [...all.filter((_, index) => index !== starter), ...all.slice(starter, starter + 1)]
  await Promise.all(others.map(close))
  expect(await answers(url)).toBe(true)
  if (last !== undefined) await close(last)
  expect(await answers(url)).toBe(false)
})

it('a server orphaned by SIGKILL goes on, is adopted by the next command, and stopped by it', async () => {
  const killed = start()
  const first = await opened(killed)
  expect(await killed.end('SIGKILL')).toBe('SIGKILL')
  expect(await answers(first.url)).toBe(true)

  const next = start()
  expect(await opened(next)).toEqual({ ...first, startedHere: false })
  await close(next)
  expect(await answers(first.url)).toBe(false)
})

it('a server killed with its command is recovered, on the same port and with what was committed', async () => {
  const killed = start()
  const first = await opened(killed)
  await ask(first.url, 'create table kept as select 42 as n')
  const postmaster = Number(await ask(first.url, "select split_part(pg_read_file('postmaster.pid'), e'\\n', 1)"))
  process.kill(postmaster, 'SIGKILL')
  await killed.end('SIGKILL')

  const next = start()
  expect(await opened(next)).toEqual(first)
  expect(await ask(first.url, 'select n from kept')).toBe(42)
  await close(next)
})

it('Ctrl-C reaches the command and not the server, so that the command can close it', async () => {
  const child = start({ group: true })
  const { url } = await opened(child)
  process.kill(-(child.process.pid ?? Number.NaN), 'SIGINT')
  expect(await child.nextLine()).toBe('closed')
  expect(await child.end()).toBe(0)
  expect(await answers(url)).toBe(false)
})
