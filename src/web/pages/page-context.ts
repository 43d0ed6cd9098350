/** What a page about one thing says besides it. */
export type PageContext = { readonly now: Date; readonly version: string; readonly signedIn: boolean }
