// Traces of jobs reach a collector when OpenTelemetry's own variables name one, and cost nothing otherwise.

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { context, diag, propagation, trace } from '@opentelemetry/api'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openTracing, wantsTraces } from '../../src/jobs/tracing.ts'
import { recordingLog } from '../api/recording-log.ts'
import { type CommandLine, openCommandLine } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'

// A program is bundled and started, and a worker syncs.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

type Attribute = { readonly key: string; readonly value: { readonly stringValue?: string } }
type Span = { readonly name: string; readonly traceId: string; readonly spanId: string; readonly parentSpanId?: string }
type Export = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
}

type Collector = { readonly url: string; readonly exports: Export[]; close(): Promise<void> }

type Answer = { readonly status: number; readonly body: string }

/** Takes OTLP over HTTP and keeps it. */
async function openCollector(answer: Answer = { status: 200, body: '{}' }): Promise<Collector> {
  const exports: Export[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/v1/traces') exports.push(JSON.parse(Buffer.concat(chunks).toString()) as Export)
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    close: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

let database: TestDatabase
let cli: CommandLine
let collector: Collector

beforeAll(async () => {
  database = await createTestDatabase()
  cli = await openCommandLine({ DATABASE_URL: database.url })
  collector = await openCollector()
})
afterAll(async () => {
  await collector.close()
  await cli[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

describe('traces are sent', () => {
  const cases = [
    { env: {}, wanted: false },
    { env: { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, wanted: false },
    { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, wanted: true },
    { env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' }, wanted: true },
    { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' }, wanted: false },
    { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_TRACES_EXPORTER: 'none' }, wanted: false },
  ]
  for (const { env, wanted } of cases)
    it(`${wanted ? 'with' : 'not with'} ${JSON.stringify(env)}`, () => expect(wantsTraces(env)).toBe(wanted))

  it('from the job that was added to the worker that carried it out, in one trace', async () => {
    const ended = await cli.run(['sync', 'types'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
    })
    expect(ended.code, ended.stderr).toBe(0)
    const resources = collector.exports.flatMap((each) => each.resourceSpans)
    const attributes = resources.flatMap(({ resource }) => resource.attributes)
    const told = (key: string): string | undefined => attributes.find((each) => each.key === key)?.value.stringValue
    expect(told('service.name')).toBe('boat-mirror')
    expect(told('deployment.environment')).toBe('test')
    const spans = resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
    const added = spans.filter((span) => span.name.startsWith('add') && span.name.includes('boat-mirror-sync'))
    expect(added.length).toBeGreaterThan(0)
    for (const { spanId, traceId } of added)
      expect(spans).toContainEqual(
        expect.objectContaining({ name: 'process boat-mirror-sync', parentSpanId: spanId, traceId }),
      )
  })

  it('and a collector that is away costs no work and no patience', async () => {
    const ended = await cli.run(['sync', 'types'], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stdout).toContain('types')
    expect(ended.stderr).toContain('traces')
  })

  it('to nobody, with a warning, where the packages for them are not installed', async () => {
    const missing = "Object.assign(new Error('Cannot find package bullmq-otel'), { code: 'ERR_MODULE_NOT_FOUND' })"
    const resolver = `export const resolve = (name, context, next) => { if (name === 'bullmq-otel') throw ${missing}; return next(name, context) }`
    const hook = join(cli.folder, 'without-packages.mjs')
    await writeFile(
      hook,
      `import { register } from 'node:module'; register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(resolver)}))`,
    )
    const before = collector.exports.length
    const ended = await cli.run(['sync', 'types'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      NODE_OPTIONS: `--import ${hook}`,
    })
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stderr).toMatch(/"traces_off".*packages for traces are not installed/)
    expect(collector.exports.length).toBe(before)
  })

  it('to nobody when nobody is named', async () => {
    const before = collector.exports.length
    const ended = await cli.run(['sync', 'types'])
    expect(ended.code, ended.stderr).toBe(0)
    expect(collector.exports.length).toBe(before)
    expect(ended.stderr).not.toContain('traces')
  })
})

describe('what is wrong with traces is said in the log', () => {
  /** Sends spans, each on its own, to a collector that answers so. @returns what was logged of it. */
  async function loggedOf(answer: Answer, env: Readonly<Record<string, string>> = {}): Promise<readonly object[]> {
    const { log, lines } = recordingLog()
    const own = await openCollector(answer)
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: own.url, OTEL_BSP_SCHEDULE_DELAY: '10', ...env }
    // They are read by OpenTelemetry itself.
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
    try {
      const tracing = await openTracing(variables, log)
      for (const sent of [1, 2]) {
        trace.getTracer('test').startSpan('work').end()
        await vi.waitFor(() => expect(own.exports).toHaveLength(sent), 30_000)
      }
      await tracing?.close()
      return lines.filter(({ event }) => event !== 'traces_on')
    } finally {
      vi.unstubAllEnvs()
      for (const api of [trace, context, propagation, diag]) api.disable()
      await own.close()
    }
  }

  it('nothing, while nothing is', async () => {
    expect(await loggedOf({ status: 200, body: '{}' })).toEqual([])
  })

  it('another protocol was asked for than the one they are sent in', async () => {
    const protocol = { event: 'traces_protocol', protocol: 'grpc' }
    expect(await loggedOf({ status: 200, body: '{}' }, { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toMatchObject([
      protocol,
    ])
    const own = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' }
    expect(await loggedOf({ status: 200, body: '{}' }, own)).toEqual([])
  })

  it('the collector refuses them: once, without a stack', async () => {
    expect(await loggedOf({ status: 400, body: '{"message":"no such tenant"}' })).toMatchObject([
      { event: 'traces_trouble', reason: 'Bad Request' },
    ])
  })

  it('the collector takes a part of them, and why', async () => {
    const partialSuccess = { rejectedSpans: '1', errorMessage: 'the name is too long' }
    expect(await loggedOf({ status: 200, body: JSON.stringify({ partialSuccess }) })).toMatchObject([
      { event: 'traces_trouble', reason: expect.stringContaining('the name is too long') },
    ])
  })
})
