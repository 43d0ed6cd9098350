// A client made by a generator from an OpenAPI document, and a program that uses it: compiled with everything strict.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { generateApi } from 'swagger-typescript-api'

const execute = promisify(execFile)

/** What the compiled program offers. `token` null: none is sent. */
type Program = {
  listRentals(baseUrl: string, token: string | null): Promise<readonly (number | null | undefined)[]>
}

const program = `import { Api } from './client.js'

export async function listRentals(baseUrl: string, token: string | null): Promise<(number | null | undefined)[]> {
  const api = new Api<string>({ baseUrl, securityWorker: (secret) => ({ headers: { authorization: \`Bearer \${secret}\` } }) })
  api.setSecurityData(token)
  const ids: (number | null | undefined)[] = []
  for (let page = 1; ; page++) {
    const { data } = await api.v3.listRentals({ page, perPage: 10, order: 'creationDateAsc' }, { secure: token !== null })
    if (data.length === 0) return ids
    for (const { id, status, departureHarbour } of data) {
      const shown: string = [status ?? '', departureHarbour?.name ?? ''].join(' ')
      if (shown !== '') ids.push(id)
    }
  }
}

export const confirm = (api: Api<string>, rentalId: number) => api.v3.updateRental(rentalId, { status: 'VALIDATED' })
`

const compilerOptions = {
  ...{ target: 'es2022', module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom', 'dom.iterable'] },
  ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: false, types: [], outDir: 'js' },
}

/** Makes the client, compiles it with the program, and loads both. @throws what the compiler says */
export async function buildClient(document: object): Promise<Program & AsyncDisposable> {
  const cache = resolve('node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'openapi-client-'))
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const { files } = await generateApi({
      spec: document as never,
      output: false,
      silent: true,
      httpClientType: 'fetch',
    })
    // The generator asks the compiler to look away; here it must not.
    const client = files.map(({ fileContent }) => fileContent.replace('// @ts-nocheck', '')).join('\n')
    await writeFile(join(folder, 'client.ts'), client)
    await writeFile(join(folder, 'program.ts'), program)
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    await execute(resolve('node_modules/.bin/tsc'), ['-p', folder]).catch((error: { stdout?: string }) => {
      throw new Error(`The client does not compile:\n${error.stdout}`)
    })
    const loaded: Program = await import(/* @vite-ignore */ pathToFileURL(join(folder, 'js/program.js')).href)
    return { listRentals: loaded.listRentals, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}
