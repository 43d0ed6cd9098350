/** What a page about one thing shows in addition to it. */
export type PageContext = {
  readonly now: Date
  readonly version: string
  readonly signedIn: boolean
  /** Whether the reader may decide: `here`, after signing in, or not before ADMIN_TOKEN is set. */
  readonly decides: 'here' | 'sign-in' | 'off'
}
