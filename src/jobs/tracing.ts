// Traces of jobs through BullMQ's own OpenTelemetry hook. Off, and not even loaded, unless one of OpenTelemetry's own
// variables names a collector.

import { hostname } from 'node:os'
import type { Telemetry } from 'bullmq'
import { packageVersion } from '../api/wire/request.ts'
import { messageOf } from '../errors.ts'
import { atMostEvery, type Logger } from '../log.ts'

type Tracing = {
  readonly telemetry: Telemetry
  /** Sends what is left; gives up with the export's time limit. */
  close(): Promise<void>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Do OpenTelemetry's variables ask for traces over OTLP? Pure. */
export function wantsTraces(env: Environment): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  if ((env.OTEL_TRACES_EXPORTER || 'otlp') !== 'otlp') return false
  return Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT)
}

/** A command waits so long for its last traces where OTEL_EXPORTER_OTLP_TIMEOUT says nothing; OpenTelemetry's 10 s are long at a prompt. */
const exportMs = 3_000
const quietMs = 60_000

const withoutPackages =
  'no traces: OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages for traces are not installed (docs/operations.md, "Pages and metrics")'

/** They are large and needed by few: whoever wants traces installs them. */
const loadPackages = () =>
  Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('bullmq-otel'),
  ])

/**
 * Opens tracing where the variables ask for it, else gives null. Endpoint, headers, time limits, sampling and batches are
 * read from the OTEL_* variables by OpenTelemetry itself. A collector that is away, or packages that are not installed
 * (some platforms set the variables for every program), cost traces and a warning, never work.
 */
export async function openTracing(env: Environment, log: Logger): Promise<Tracing | null> {
  if (!wantsTraces(env)) return null
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || 'http/json'
  if (protocol !== 'http/json')
    log.warn(
      { event: 'traces_protocol', protocol },
      `traces are sent as http/json, whatever OTEL_EXPORTER_OTLP_PROTOCOL says (${protocol})`,
    )
  const packages = await loadPackages().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    log.warn({ event: 'traces_off', reason: messageOf(error) }, withoutPackages)
  })
  if (packages === undefined) return null
  const [
    { diag, DiagLogLevel },
    { NodeTracerProvider, BatchSpanProcessor },
    { OTLPTraceExporter },
    resources,
    { BullMQOtel },
  ] = packages
  diag.setLogger(diagnostics(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  const version = packageVersion()
  const resource = resources
    .defaultResource()
    .merge(
      resources.resourceFromAttributes({
        'service.name': 'boat-mirror',
        'service.version': version,
        'host.name': hostname(),
      }),
    )
    .merge(resources.detectResources({ detectors: [resources.envDetector] }))
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(patience(env)))],
  })
  provider.register()
  log.info({ event: 'traces_on' }, 'traces of jobs are sent to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names')
  return {
    telemetry: new BullMQOtel({ tracerName: 'boat-mirror', version }),
    close: async () => {
      try {
        await provider.shutdown()
      } catch (error) {
        log.warn({ event: 'traces_lost', reason: messageOf(error) }, 'the last traces could not be sent')
      }
    },
  }
}

const patience = (env: Environment): { timeoutMillis?: number } =>
  env.OTEL_EXPORTER_OTLP_TIMEOUT || env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ? {} : { timeoutMillis: exportMs }

/** OpenTelemetry tells of an error as JSON with its stack; its message is enough. */
const told = (text: string): string => (/"message":"([^"]*)"/.exec(text)?.[1] ?? text).slice(0, 300)

/** OpenTelemetry's own complaints, in our log; the same one once a minute. */
function diagnostics(
  log: Logger,
): Record<'error' | 'warn' | 'info' | 'debug' | 'verbose', (...parts: unknown[]) => void> {
  const isNew = atMostEvery(quietMs)
  // What belongs to the words comes beside them: which part speaks, what a collector answered.
  const say = (...parts: unknown[]): void => {
    const text = parts.join(' ')
    if (!isNew(text)) return
    log.warn({ event: 'traces_trouble', reason: told(text) }, 'OpenTelemetry reported a problem; work goes on')
  }
  const nothing = (): void => {}
  return { error: say, warn: say, info: nothing, debug: nothing, verbose: nothing }
}
