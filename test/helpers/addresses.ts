// Addresses of databases.

/** The same address with another database. */
export function withDatabase(address: string, database: string): string {
  const url = new URL(address)
  url.pathname = `/${database}`
  return url.href
}
