// `init`: from a trial to production. Asks where API and database are, tries them as `check` does, and keeps in `.env` what
// every later command needs.

import { execFile } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { readConfig } from '../../config.ts'
import { openDatabaseServer } from '../../embedded/embedded-postgres.ts'
import { BoatMirrorError } from '../../errors.ts'
import { collectAnswers } from '../answers.ts'
import { checkEverything } from '../check-everything.ts'
import { againstText, placesOf, replacedText, settingsToWrite } from '../check-settings.ts'
import type { CommandContext, ExitCode } from '../context.ts'
import { findingsText } from '../findings.ts'
import { readSettingsFile, replaceSettings, variablesOf } from '../settings-file.ts'
import { printNote, printText } from '../terminal/output.ts'

const name = '.env'

/** 0 `.env` holds what works, 1 something does not work and nothing was written, 3 the environment contradicts `.env`. */
export async function runInit(context: CommandContext): Promise<ExitCode> {
  const path = resolve(name)
  const state = await gitStateOf(path)
  if (state === 'tracked') throw tracked()
  const kept = variablesOf(await readSettingsFile(path))
  const answers = await collectAnswers({ environment: process.env, kept, signal: context.signal })
  const environment = { ...context.environment, ...answers }
  if (answers.API_TOKEN !== undefined && !environment.API_BASE_URL)
    throw new BoatMirrorError('USAGE', 'API_TOKEN is given, but API_BASE_URL is not.', {
      remedy: 'Give the address of the API as well.',
    })
  if (!environment.API_BASE_URL && !environment.DATABASE_URL) {
    printText(withDefaults)
    return 0
  }
  const config = readConfig(environment, process.cwd(), { tokenOptional: true })
  if (process.stderr.isTTY === true) printNote('Checking the API and the database …')
  await (await openDatabaseServer(config, context.log)).close() // creates an embedded database, which `check` does not
  const how = { isToWrite: config.api.baseUrl !== null, tryQuery: false }
  const { findings, found } = await checkEverything({ ...context, config, environment }, how)
  if (findings.some(({ status }) => status === 'fail')) {
    printText(`${findingsText(findings)}\n\nSomething is wrong. Nothing was written to ${name}.`)
    return 1
  }
  const settings = [...placesOf(environment, true), ...(found?.settings ?? [])]
  const against = settingsToWrite(settings, { name, variables: {} }, process.env).filter(
    ({ contradictedBy }) => contradictedBy !== null,
  )
  const written = replacedText(name, await replaceSettings(path, settings))
  const notes = [...against.map(againstText), ...noteOf(state)]
  printText([findingsText(findings), written, ...notes, next].join('\n\n'))
  return against.length > 0 ? 3 : 0
}

const next = 'Everything needed works. Next: boat-mirror worker'

const withDefaults =
  'Nothing to write: without API_BASE_URL and DATABASE_URL, every command runs with its defaults, on the built-in sandbox and the embedded Postgres.\nNext: boat-mirror worker'

const tracked = (): BoatMirrorError =>
  new BoatMirrorError('USAGE', `${name} is tracked by git, so a secret in it would be committed.`, {
    remedy: `Run: git rm --cached ${name}. Add ${name} to .gitignore, commit both, and run boat-mirror init again.`,
  })

/** What git may do with the file one day. */
function noteOf(state: GitState): readonly string[] {
  if (state === 'open') return [`${name} is not ignored by git. Add it to .gitignore, or its secrets may be committed.`]
  if (state === 'unknown') return [`Could not find out whether git tracks ${name}. Make sure that it does not.`]
  return []
}

/** `none`: there is no git, or no repository around the file; `unknown`: git could not say. */
type GitState = 'tracked' | 'ignored' | 'open' | 'none' | 'unknown'

/** What git does with a file, or with the target of a link. Runs git in the folder of the file. */
async function gitStateOf(path: string): Promise<GitState> {
  const target = await realpath(path).catch(() => path) // a file that is not there is a link to nothing
  const states = await Promise.all([...new Set([path, target])].map(stateOf))
  const gravest: readonly GitState[] = ['tracked', 'unknown', 'open', 'ignored']
  return gravest.find((state) => states.includes(state)) ?? 'none'
}

async function stateOf(path: string): Promise<GitState> {
  const tracked = await git(path, ['ls-files', '--error-unmatch'])
  if (tracked === 0) return 'tracked'
  if (tracked !== 1) return tracked
  const ignored = await git(path, ['check-ignore', '--quiet'])
  return ignored === 0 ? 'ignored' : ignored === 1 ? 'open' : ignored
}

/** Runs git on a file. @returns 0 for yes, 1 for no, else why there is no answer */
function git(path: string, args: readonly string[]): Promise<0 | 1 | 'none' | 'unknown'> {
  return new Promise((resolve) => {
    const options = { cwd: dirname(path), env: { ...process.env, LC_ALL: 'C' } }
    execFile('git', [...args, '--', basename(path)], options, (error, _stdout, stderr) => {
      if (error === null) resolve(0)
      else if (error.code === 1) resolve(1)
      else resolve(String(error.code) === 'ENOENT' || /not a git repository/.test(stderr) ? 'none' : 'unknown')
    })
  })
}
