// Opens the app for a command, with the sandbox where no API is configured.

import { type App, type AppOptions, noApi, openApp } from '../app.ts'
import { assertToken, type Config } from '../config.ts'
import type { Logger } from '../log.ts'
import { attachSandbox } from './sandbox/host.ts'
import { seekDatabase } from './worker-mark.ts'

export type OpenedApp = App & { readonly apiUrl: string; readonly sandbox: boolean }

/** `api: false`: the command does not call the API. */
export type OpenOptions = Pick<AppOptions, 'schema' | 'patienceMs' | 'signal' | 'onAnswered' | 'onFenced'> & {
  readonly api?: boolean
  /** Creates a missing embedded database; by default if the schema is migrated. */
  readonly creates?: boolean
}

/** Opens all that a sync needs, and the sandbox where no API is configured. @throws BoatMirrorError CONFIG_INVALID without API_TOKEN */
export async function openFor(config: Config, log: Logger, options: OpenOptions): Promise<OpenedApp> {
  const { api = true, creates = options.schema === 'migrate', ...wanted } = options
  if (api) assertToken(config)
  await seekDatabase(config, log, creates)
  const sandbox = config.api.baseUrl === null && api ? await attachSandbox(config.dataDir, log) : null
  const apiUrl = (api ? config.api.baseUrl : null) ?? sandbox?.url ?? noApi
  try {
    const app = await openApp({ config, log, apiUrl, sandbox: config.api.baseUrl === null, ...wanted })
    const dispose = async (): Promise<void> => {
      await app[Symbol.asyncDispose]()
      await sandbox?.close()
    }
    return { ...app, apiUrl, sandbox: config.api.baseUrl === null, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await sandbox?.close()
    throw error
  }
}
