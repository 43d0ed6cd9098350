// A refusal with its HTTP status and a body a person can read.

interface FieldError {
  readonly field: string
  readonly message: string
}

export class Failure extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldError[]

  constructor(status: number, code: string, message: string, errors: readonly FieldError[] = []) {
    super(message)
    this.name = 'Failure'
    this.status = status
    this.code = code
    this.errors = errors
  }

  /** JSON text of the body: `{code, message, errors: [{field, message}]}`. */
  get body(): string {
    return JSON.stringify({ code: this.code, message: this.message, errors: this.errors })
  }
}

/** 400 with one wrong field. */
export const badField = (field: string, message: string): Failure =>
  new Failure(400, 'BAD_REQUEST', `${field}: ${message}`, [{ field, message }])

/** 404 for a record that does not exist. */
export const notFound = (what: string): Failure => new Failure(404, 'NOT_FOUND', `${what} does not exist`)

/** 409 for something that exists or is taken already. */
export const conflict = (message: string): Failure => new Failure(409, 'CONFLICT', message)
