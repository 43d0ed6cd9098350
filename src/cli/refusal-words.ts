// The API's own words when it refused a change, in readable form: `email: is required`. Pure.

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textIn = (value: unknown, ...names: readonly string[]): string | undefined => {
  if (typeof value === 'string') return value || undefined
  if (!isObject(value)) return undefined
  return names.map((name) => value[name]).find((each) => typeof each === 'string' && each !== '') as string | undefined
}

/** Members under which APIs say which field is wrong and why. */
const lists = ['errors', 'violations', 'details', 'invalidParams', 'invalid-params']

/** One problem: `{field, message}`, a text, or `[field, texts]` of an object by fields. */
function problemText(problem: unknown): string | undefined {
  const field = isObject(problem)
    ? textIn(problem.field ?? problem.propertyPath ?? problem.name ?? problem.path)
    : undefined
  const message = textIn(problem, 'message', 'detail', 'reason', 'description', 'title')
  return field === undefined || message === undefined ? message : `${field}: ${message}`
}

function problemsIn(value: unknown): readonly string[] {
  const listed = Array.isArray(value)
    ? value.map(problemText)
    : isObject(value)
      ? Object.entries(value).map(([field, texts]) => {
          const text = (Array.isArray(texts) ? texts : [texts]).filter((each) => typeof each === 'string').join(', ')
          return text === '' ? undefined : `${field}: ${text}`
        })
      : []
  return listed.filter((each) => each !== undefined)
}

/**
 * @param response the stored answer: status, and the beginning of its body as text
 * @returns null where it contains nothing readable, or is not a refusal
 */
export function refusalWords(response: Readonly<Record<string, unknown>> | null): string | null {
  if (response === null || typeof response.body !== 'string' || Number(response.status) < 400) return null
  let body: unknown
  try {
    body = JSON.parse(response.body)
  } catch {
    return null // cut off, or a page for people: the response is shown as it is
  }
  if (!isObject(body)) return null
  for (const name of lists) {
    const problems = problemsIn(body[name])
    if (problems.length > 0) return problems.join('; ')
  }
  return (
    textIn(body, 'message', 'detail', 'error_description', 'error', 'title') ?? textIn(body.error, 'message') ?? null
  )
}
