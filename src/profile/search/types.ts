// Input and results of the search for settings. No behaviour.

import type { AuthSetting, PagingSettings, PagingStyle } from '../../config.ts'
import type { BoatMirrorError } from '../../errors.ts'
import type { Sample } from './sample.ts'

/** A list of the API as a sync reads it. */
export type ListToRead = {
  readonly name: string
  /** `GET /v3/rentals`. */
  readonly endpoint: string
  readonly query: Readonly<Record<string, string>>
}

/** A setting as it was found, and the evidence for it, in our words. */
export type FoundSetting = { readonly name: string; readonly value: string; readonly evidence: string }

/** One list that is requested in different ways. Null: this way was refused, so it is not supported. */
export type AskedList = {
  ask(query: Readonly<Record<string, string>>, paths?: Partial<PagingSettings>): Promise<Sample | null>
  /** Follows a next link. @throws BoatMirrorError PAGING_FOREIGN_LINK, without a request */
  follow(link: string): Promise<Sample | null>
  /** Whether a next value is an address rather than a token. */
  isLink(next: string): boolean
}

/** How lists are paged, as far as it was found. */
export type FoundPaging = {
  readonly paging: Partial<PagingSettings>
  readonly settings: readonly FoundSetting[]
}

/** What is set already, and therefore tried first. */
export type SetAlready = {
  readonly paging: PagingSettings
  /** Null: no style is set. */
  readonly style: PagingStyle | null
}

export type Discovery = {
  /** Null: none was accepted. */
  readonly auth: AuthSetting | null
  /** Null: not found, or too few records to decide. */
  readonly paging: Partial<PagingSettings> | null
  readonly settings: readonly FoundSetting[]
  /** Why no more was found; null: all was. */
  readonly problem: BoatMirrorError | null
  /** What could not be determined and does no harm, in words. */
  readonly note: string | null
}
