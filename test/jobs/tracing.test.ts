// Traces of jobs reach a collector when OpenTelemetry's own variables name one, and cost nothing otherwise.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wantsTraces } from '../../src/jobs/tracing.ts'
import { type CommandLine, openCommandLine } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'

type Attribute = { readonly key: string; readonly value: { readonly stringValue?: string } }
type Span = { readonly name: string; readonly traceId: string; readonly spanId: string; readonly parentSpanId?: string }
type Export = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
}

type Collector = { readonly url: string; readonly exports: Export[]; close(): Promise<void> }

/** Takes OTLP over HTTP and keeps it. */
async function openCollector(): Promise<Collector> {
  const exports: Export[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/v1/traces') exports.push(JSON.parse(Buffer.concat(chunks).toString()) as Export)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
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

// Each starts the program, some more than once.
describe('traces are sent', { timeout: 90_000 }, () => {
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

  it('to nobody when nobody is named', async () => {
    const before = collector.exports.length
    const ended = await cli.run(['sync', 'types'])
    expect(ended.code, ended.stderr).toBe(0)
    expect(collector.exports.length).toBe(before)
    expect(ended.stderr).not.toContain('traces')
  })
})
