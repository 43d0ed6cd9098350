/** What a page about one thing shows in addition to it. */
export type PageContext = {
  readonly now: Date
  readonly version: string
  /** Whether the reader may decide: `here`, in a browser that sent the token, or not before ADMIN_TOKEN is set. */
  readonly decides: 'here' | 'sign-in' | 'off'
}
