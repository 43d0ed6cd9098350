// One request and its answer on undici's barest path: a plain answer of 2xx is collected in place; one that is compressed,
// or that is an error, is a stream, whose size is counted while it unfolds.

import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { BoatMirrorError } from '../../errors.ts'

export type Received = {
  readonly status: number
  readonly headers: Record<string, string>
  /** Bytes where nothing has to be decompressed. */
  readonly body: Buffer | Readable
}

type Controller = Dispatcher.DispatchController

/** How far a request has come. */
export type Progress = {
  /** Whether a byte of a write may have left. */
  sent: boolean
  /** undefined: no answer has started. */
  status: number | undefined
}

type ExchangeOptions = {
  readonly progress: Progress
  readonly maxBytes: number
  /** Called when a write is handed to its connected socket: before that it certainly never left. */
  readonly beforeLeaving?: (() => void) | undefined
}

export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with what undici says, with the reason of `stop`, or BoatMirrorError API_TOO_LARGE. */
  readonly received: Promise<Received>
  readonly #options: ExchangeOptions
  readonly #isWrite: boolean
  #resolve: (received: Received) => void = () => undefined
  #reject: (error: unknown) => void = () => undefined
  #controller: Controller | undefined
  #stopped: Error | undefined
  #headers: Record<string, string> = {}
  #chunks: Buffer[] = []
  #bytes = 0
  #stream: Readable | undefined

  constructor(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, options: ExchangeOptions) {
    this.#options = options
    this.#isWrite = request.method !== 'GET'
    this.received = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    dispatcher.dispatch(request, this)
  }

  /** Ends it wherever it is; what has not left will not. */
  stop(reason: Error): void {
    this.#stopped = reason
    this.#stream?.destroy(reason)
    this.#controller?.abort(reason)
    this.#reject(reason)
  }

  onRequestStart(controller: Controller): void {
    if (this.#stopped !== undefined) {
      controller.abort(this.#stopped)
      return
    }
    this.#controller = controller
    if (!this.#isWrite) return
    this.#options.beforeLeaving?.()
    this.#options.progress.sent = true
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return
    this.#options.progress.status = status
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) this.#headers[name] = typeof value === 'string' ? value : value.join(', ')
    }
    if (status === 304 || (status < 300 && (this.#headers['content-encoding'] ?? 'identity') === 'identity')) return
    const stream = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        if (!stream.readableEnded) controller.abort(error ?? new Error('The answer was not read to its end.'))
        done(error)
      },
    })
    // It may fail just before it is read; the reader then gets the error.
    stream.on('error', () => undefined)
    this.#stream = stream
    this.#resolve({ status, headers: this.#headers, body: stream })
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#stream !== undefined) {
      if (!this.#stream.push(chunk)) controller.pause()
      return
    }
    this.#bytes += chunk.length
    this.#chunks.push(chunk)
    if (this.#bytes > this.#options.maxBytes) this.stop(tooLarge(this.#options.maxBytes))
  }

  onResponseEnd(): void {
    if (this.#stream !== undefined) {
      this.#stream.push(null)
      return
    }
    const [first] = this.#chunks
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks, this.#bytes)
    this.#resolve({ status: this.#options.progress.status ?? 0, headers: this.#headers, body })
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#stream?.destroy(error)
    this.#reject(error)
  }
}

/** The error for an answer beyond its limit. */
export const tooLarge = (maxBytes: number): BoatMirrorError =>
  new BoatMirrorError('API_TOO_LARGE', `The answer is larger than ${maxBytes / 1e6} MB.`)
