// `check`: tries configuration, database, queue and API, and says what is right, what is wrong and what to set.

import { BoatMirrorError } from '../../errors.ts'
import type { FoundSetting } from '../../profile/search/find-paging.ts'
import { checkEverything } from '../check-everything.ts'
import { linesText, placesOf, type SettingToWrite, writeSettings, writtenText } from '../check-settings.ts'
import type { CommandContext, ExitCode, Json } from '../context.ts'
import { type Finding, failed, findingsText } from '../findings.ts'
import { printJson, printText } from '../terminal/output.ts'

type Flags = Json & { readonly write?: string | true; readonly withSecrets: boolean; readonly tryQuery: boolean }

export async function runCheck(
  context: CommandContext,
  { json, write, withSecrets, tryQuery }: Flags,
): Promise<ExitCode> {
  const { config } = context
  if (write !== undefined && config.api.baseUrl === null)
    throw new BoatMirrorError('USAGE', 'There is nothing to detect, because API_BASE_URL is not set.', {
      remedy: 'Set API_BASE_URL and API_TOKEN.',
    })
  if (withSecrets && write === undefined)
    throw new BoatMirrorError('USAGE', '--with-secrets needs --write. Without --write, nothing is written.')
  const isToWrite = write !== undefined
  const { found, ...seen } = await checkEverything(context, { isToWrite, tryQuery })
  const findings = [...seen.findings]
  const path = isToWrite && found?.problem === null ? (write === true ? '.env' : write) : null
  const toWrite = [...placesOf(context.environment, withSecrets), ...(found?.settings ?? [])]
  const written = path === null ? null : await writeOrTell(path, toWrite, findings)
  const bad = findings.some((finding) => finding.status === 'fail')
  const contradicted = written?.some(({ contradictedBy }) => contradictedBy !== null) ?? false
  const settings = written ?? found?.settings ?? []
  if (json) printJson({ ok: !bad && !contradicted, findings, settings, written: written === null ? null : path })
  else {
    const lines =
      written !== null && path !== null
        ? writtenText(path, written)
        : settings.length > 0 && findings.some(({ name, status }) => name.startsWith('settings') && status !== 'ok')
          ? linesText(settings)
          : null
    const verdict = bad ? 'Something is wrong.' : 'Everything needed works.'
    printText([findingsText(findings), ...(lines === null ? [] : [lines]), verdict].join('\n\n'))
  }
  return bad ? 1 : contradicted ? 3 : 0
}

/** Writes the settings; null where that fails, which is one more finding: what was found is shown all the same. */
async function writeOrTell(
  path: string,
  settings: readonly FoundSetting[],
  findings: Finding[],
): Promise<readonly SettingToWrite[] | null> {
  try {
    return await writeSettings(path, settings, process.env)
  } catch (error) {
    if (!(error instanceof BoatMirrorError)) throw error
    findings.push(failed('settings file', error))
    return null
  }
}
