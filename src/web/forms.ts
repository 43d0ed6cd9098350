// The forms that decide: each is bound to a session, to its decision, and to the plan that was shown. A plan is
// decided once, so a form can be used once. Pure, except for the clock that is passed in.

import { createHmac } from 'node:crypto'
import { isSecret } from './session.ts'

/** A form older than this asks for the token again, in seconds. */
export const formSeconds = 300

/** What a form is bound to. */
export type Bound = {
  readonly session: string
  /** The address that it is posted to, which names target and decision. */
  readonly path: string
}

/** What is known of a form that is posted. */
export type PostedForm =
  /** `asksToken`: it is accepted only with the token. */
  | { readonly kind: 'good'; readonly plan: string; readonly asksToken: boolean }
  | { readonly kind: 'old' }
  | { readonly kind: 'wrong' }

const signature = (token: string, parts: readonly string[]): string =>
  createHmac('sha256', createHmac('sha256', token).update('boat-mirror form').digest())
    .update(JSON.stringify(parts))
    .digest('base64url')

/** A form for this plan: when it was made, whether it asks for the token, the plan, and a signature made with the token. */
export function issueForm(
  token: string,
  { session, path }: Bound,
  { plan, asksToken }: { readonly plan: string; readonly asksToken: boolean },
  now: Date,
): string {
  const parts = [String(Math.floor(now.getTime() / 1_000)), asksToken ? 'token' : 'plain', plan]
  return [...parts, signature(token, [session, path, ...parts])].join('.')
}

/** Reads a form that is posted. */
export function readForm(token: string, { session, path }: Bound, form: string, now: Date): PostedForm {
  const [issued = '', kind = '', plan = '', signed = '', ...more] = form.split('.')
  if (more.length > 0 || !/^\d{1,12}$/.test(issued)) return { kind: 'wrong' }
  if (!isSecret(signature(token, [session, path, issued, kind, plan]), signed)) return { kind: 'wrong' }
  if (now.getTime() / 1_000 - Number(issued) > formSeconds) return { kind: 'old' }
  return { kind: 'good', plan, asksToken: kind === 'token' }
}

/** The longest name that is kept. */
export const longestName = 60

/** The name that was typed, as it is recorded: nothing proves it. Empty: none was typed. */
export function typedName(given: string): string {
  const name = given
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, longestName)
    .trim()
  return name === '' ? '' : `${name} (unproven)`
}
