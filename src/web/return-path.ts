// Where somebody goes on after signing in: the page that was asked for, if it is one of ours. Pure.

/** Letters, digits and what our own paths hold besides; never two slashes, which would name another host. */
const ours = /^(\/[\w.~-]+)+\/?$/

/** The path of a page of ours, without a query; the status page for everything else. */
export function returnPath(wanted: unknown): string {
  return typeof wanted === 'string' && wanted.length <= 300 && ours.test(wanted) ? wanted : '/'
}

/** The address of the form that leads back to this one. */
export function signInPath(url: string): string {
  const path = returnPath(url.split('?')[0])
  return path === '/' ? '/sign-in' : `/sign-in?${new URLSearchParams({ to: path })}`
}
