// The answers for `init`: from the environment, from lines on standard input, or from a terminal, without echo for
// secrets. Nothing comes from flags: other users see them in the list of processes.

import { on } from 'node:events'
import { createInterface } from 'node:readline'
import { addAbortSignal, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { BoatMirrorError } from '../errors.ts'
import { settings } from '../settings.ts'
import { shownAddress } from '../text.ts'
import { printNote } from './terminal/output.ts'

/** In the order of the questions. */
const asked = {
  API_BASE_URL: {
    setting: settings.baseUrl,
    question: 'Address of the API, for example https://api.example.com',
    without: 'the built-in sandbox',
    isSecret: false,
  },
  API_TOKEN: {
    setting: settings.token,
    question: 'Token of the API (not shown as you type)',
    without: 'none',
    isSecret: true,
  },
  DATABASE_URL: {
    setting: settings.databaseUrl,
    question: 'Address of the database, for example postgres://user:password@host/db (not shown as you type)',
    without: 'the embedded Postgres',
    isSecret: true,
  },
} as const

type Name = keyof typeof asked
const names: readonly Name[] = ['API_BASE_URL', 'API_TOKEN', 'DATABASE_URL']

/** The settings to write, by name. Others stay unchanged. */
export type Answers = Readonly<Partial<Record<Name, string>>>

type Environment = Readonly<Record<string, string | undefined>>

type Sources = {
  /** The process's own variables, which take precedence. */
  readonly environment: Environment
  /** The present values in `.env`. An empty answer keeps them. */
  readonly kept: Environment
  readonly signal: AbortSignal
}

/**
 * Collects the answers. Lines on standard input are read only if it is not a terminal and the environment lacks a setting.
 * @throws BoatMirrorError USAGE for a line that is not `NAME=value`, or that contradicts the environment
 */
export async function collectAnswers({ environment, kept, signal }: Sources): Promise<Answers> {
  const given: Answers = Object.fromEntries(
    names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  )
  if (names.every((name) => given[name] !== undefined)) return given
  if (process.stdin.isTTY === true) return { ...given, ...(await askPerson({ given, kept, signal })) }
  const answers = parseAnswers(await text(addAbortSignal(signal, process.stdin)))
  const other = names.find((name) => answers[name] && given[name] && answers[name] !== given[name])
  if (other !== undefined)
    throw new BoatMirrorError('USAGE', `The environment and standard input give two values for ${other}.`, {
      remedy: `Remove one of them. Otherwise the environment takes precedence over ${other}.`,
    })
  return { ...given, ...answers }
}

/** Reads lines `NAME=value`; skips empty lines and comments. Pure. @throws BoatMirrorError USAGE with the number of the line: it may hold a secret */
export function parseAnswers(input: string): Answers {
  const answers: Partial<Record<Name, string>> = {}
  for (const [index, line] of input.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const [, word, value = ''] = /^\s*(?:export\s+)?(\w+)=(.*)$/.exec(line) ?? []
    const name = names.find((each) => each === word)
    if (name === undefined)
      throw new BoatMirrorError('USAGE', `Line ${index + 1} of standard input sets none of ${names.join(', ')}.`, {
        remedy: 'Write one setting on each line, as NAME=value.',
      })
    const answer = value.trim().replace(/^(["'])(.*)\1$/, '$2')
    if (answer !== '') answers[name] = answer
  }
  return answers
}

/** Asks for missing settings. An empty answer leaves one unchanged; an invalid one repeats the question. */
async function askPerson({ given, kept, signal }: Omit<Sources, 'environment'> & { given: Answers }): Promise<Answers> {
  const answers: Partial<Record<Name, string>> = {}
  await using terminal = openTerminal(signal)
  for (const name of names) {
    const { setting, question, without, isSecret } = asked[name]
    const hasApi = given.API_BASE_URL ?? answers.API_BASE_URL ?? kept.API_BASE_URL
    if (given[name] !== undefined || (name === 'API_TOKEN' && !hasApi)) continue
    const present = kept[name]
    const otherwise = !present ? without : isSecret ? 'keep the one in .env' : `keep ${shownAddress(present)}`
    for (;;) {
      const answer = (await terminal.ask(`${question} [Enter: ${otherwise}]: `, isSecret)).trim()
      if (answer !== '' && setting.parse(answer) === undefined) {
        printNote(`${name} takes ${setting.takes}.`)
        continue
      }
      if (answer !== '') answers[name] = answer
      break
    }
  }
  return answers
}

type Terminal = AsyncDisposable & { ask(question: string, isSecret: boolean): Promise<string> }

/** A terminal that shows typed characters, except while it asks for a secret. */
function openTerminal(signal: AbortSignal): Terminal {
  let isShown = false
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      if (isShown) process.stderr.write(chunk)
      done()
    },
  })
  const reader = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  // Text pasted after a line end may be the secret that is requested next.
  reader.on('line', () => {
    isShown = false
  })
  // The reader consumes Ctrl-C, which the terminal would turn into a signal.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const lines = on(reader, 'line', { signal, close: ['close'] })
  return {
    ask: async (question, isSecret) => {
      isShown = !isSecret
      if (isSecret) process.stderr.write(question)
      reader.setPrompt(isSecret ? '' : question)
      reader.prompt()
      const { value, done } = await lines.next()
      if (isSecret) process.stderr.write('\n')
      if (done !== true) return String(value[0])
      throw new BoatMirrorError('ABORTED', 'The input ended before all questions were answered.', {
        remedy: 'Run boat-mirror init again, or give the settings as lines NAME=value on standard input.',
      })
    },
    [Symbol.asyncDispose]: async () => {
      reader.close()
    },
  }
}
