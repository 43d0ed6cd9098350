// What may be shown. Text from outside is made safe (a terminal obeys control characters: they could recolour, overwrite or answer),
// addresses lose their secrets, and hints name the command as it was called: by its name where it is installed, through npm in a
// checkout. Pure.

/** C0 except tab and newline, DEL, C1 (U+009B begins a sequence as ESC [ does), line separators, and changes of direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g
const lineEndsAndControls = new RegExp(`(?:[\\t\\n]|${controls.source})+`, 'g')

/** Text with control characters written out (`\u001b`); JSON stays the same JSON. */
export const withoutControls = (text: string): string =>
  text.replace(controls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Text on one line, cut to a length in characters; each run of control characters and line ends becomes a space. */
export function oneLine(text: string, length = 100): string {
  const plain = text.replace(lineEndsAndControls, ' ')
  return plain.length <= length ? plain : `${plain.slice(0, length - 1)}…`
}

/** Parameters of an address that name a server and the connection to it, and are not secret. */
const plainParameters: ReadonlySet<string> = new Set(['host', 'port', 'sslmode', 'db', 'family'])

/**
 * An address without its credentials: `postgres://user:***@host/db?password=***`. The user of a Postgres address stays; elsewhere the user
 * may be the secret. Text that is no address loses everything before the last @ and after the first ?.
 */
export function shownAddress(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null
  const isPostgres = url !== null && /^postgres(ql)?:$/.test(url.protocol)
  // An unescaped / or ? in a password moves it into the path or the query.
  if (url === null || (url.host === '' && !isPostgres) || `${url.pathname}${url.search}${url.hash}`.includes('@'))
    return address.replace(/^([a-z][a-z0-9+.-]*:?\/*)?.*@/is, '$1***@').replace(/[?#].*/s, '?…')
  const hasLogin = url.username !== '' || url.password !== ''
  if (isPostgres && url.password !== '') url.password = '***'
  if (!isPostgres) [url.username, url.password] = [hasLogin ? '***' : '', '']
  for (const name of new Set(url.searchParams.keys())) if (!plainParameters.has(name)) url.searchParams.set(name, '***')
  url.hash = ''
  return address.endsWith('/') ? url.href : url.href.replace(/\/$/, '')
}

/** Scheme and host of an address whose path or query is the secret, as of a chat; null if it is no address. */
export function shownReceiver(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null
  return url === null || url.host === '' ? null : `${url.protocol}//${url.host}`
}

export const commandNames =
  'worker|serve|sync|refresh|push|changes|status|runs|pause|resume|schedule|quarantine|report|explain|feed|close|drift|init|check|alert|webhook|access|privacy|migrate|moved|sandbox|db'

type Environment = Readonly<Record<string, string | undefined>>

const hint = new RegExp(`\\bboat-mirror (?=(?:${commandNames})\\b)`, 'g')

/** Replaces `boat-mirror` at the beginning of commands in a text with what the caller would have to type. Pure. */
export function asCalled(text: string, { npm_package_name: name, npm_lifecycle_event: script }: Environment): string {
  const inCheckout = name === 'boat-mirror' && (script === 'cli' || script === 'start')
  return inCheckout ? text.replace(/\bboat-mirror worker\b/g, 'npm start').replace(hint, 'npm run cli -- ') : text
}
