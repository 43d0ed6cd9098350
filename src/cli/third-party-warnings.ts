// Warnings that Node and packages print on the console or emit on the process: they become lines of the log, each
// text once an hour, because a package may repeat it for every connection.

import { format } from 'node:util'
import { atMostEvery, type Logger } from '../log.ts'

const quietMs = 3_600_000

/** Logs them from now on. Returns what gives console and process back. */
export function logThirdPartyWarnings(log: Logger): () => void {
  const { warn, error } = console
  const before = process.listeners('warning')
  const isNews = atMostEvery(quietMs)
  const say = (text: string): void => {
    if (isNews(text)) log.warn({ event: 'foreign_warning' }, text)
  }
  const onConsole = (...words: unknown[]): void => say(format(...words))
  const onWarning = ({ name, message }: Error): void => say(`${name}: ${message}`)
  console.warn = onConsole
  console.error = onConsole
  process.removeAllListeners('warning').on('warning', onWarning)
  return () => {
    Object.assign(console, { warn, error })
    process.removeAllListeners('warning')
    for (const listener of before) process.on('warning', listener)
  }
}
