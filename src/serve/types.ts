// What the parts of `serve` share: who asks, and what they may see.

/** The sender of a request, and what they may see and do. */
export type Caller = {
  /** The access token they sent; null: none, which only loopback may do, and only to read. */
  readonly token: { readonly id: string; readonly name: string } | null
  /** The database role that reads for them (`set local role`); null: the role of the connection. */
  readonly role: string | null
  /** The companies they may see; null: all. */
  readonly companies: readonly string[] | null
  /** May they see personal members, users and documents? */
  readonly personal: boolean
  /** May they write? */
  readonly write: boolean
  /** The key of their tags, of the token and the database's history: a tag holds for these alone, at each of its servers. */
  readonly tagKey: string
}
