// Addresses of databases.

/** The same address with another database. */
export function withDatabase(address: string, database: string): string {
  const url = new URL(address)
  url.pathname = `/${database}`
  return url.href
}

/** The same address with another login. */
export function withLogin(address: string, user: string, password: string): string {
  const url = new URL(address)
  url.username = user
  url.password = password
  return url.href
}
