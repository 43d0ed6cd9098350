// Where to continue after signing in: the requested page, if it is one of ours. Pure.

/** Letters, digits and the other characters of our own paths; never two slashes, which would name another host. */
const ours = /^(\/[\w.~-]+)+\/?$/

/** The path of one of our pages, without a query; the status page for everything else. */
export function returnPath(wanted: unknown): string {
  return typeof wanted === 'string' && wanted.length <= 300 && ours.test(wanted) ? wanted : '/'
}

/** The address of the form that leads back to this one. */
export function signInPath(url: string): string {
  const path = returnPath(url.split('?')[0])
  return path === '/' ? '/sign-in' : `/sign-in?${new URLSearchParams({ to: path })}`
}
