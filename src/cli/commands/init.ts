// `init`: from a trial to production. Asks where API and database are, tries them as `check` does, and keeps in `.env` what
// every later command needs.

import { resolve } from 'node:path'
import { readConfig } from '../../config.ts'
import { openDatabaseServer } from '../../embedded/embedded-postgres.ts'
import { BoatMirrorError } from '../../errors.ts'
import { collectAnswers } from '../answers.ts'
import { checkEverything } from '../check-everything.ts'
import { againstText, placesOf, replacedText, settingsToWrite } from '../check-settings.ts'
import type { CommandContext, ExitCode } from '../context.ts'
import { findingsText } from '../findings.ts'
import { type GitState, gitStateOf } from '../git-state.ts'
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
