// Hints name the command as it was called: by its name where it is installed, through npm in a checkout.

/** The commands. */
export const commandNames =
  'worker|serve|sync|refresh|push|changes|status|runs|pause|resume|schedule|quarantine|report|explain|feed|drift|init|check|alert|webhook|access|privacy|migrate|moved|sandbox|db'

type Environment = Readonly<Record<string, string | undefined>>

const hint = new RegExp(`\\bboat-mirror (?=(?:${commandNames})\\b)`, 'g')

/** Replaces `boat-mirror` at the beginning of commands in a text with what the caller would have to type. Pure. */
export function asCalled(text: string, { npm_package_name: name, npm_lifecycle_event: script }: Environment): string {
  const inCheckout = name === 'boat-mirror' && (script === 'cli' || script === 'start')
  return inCheckout ? text.replace(/\bboat-mirror worker\b/g, 'npm start').replace(hint, 'npm run cli -- ') : text
}
