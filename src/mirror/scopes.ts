// Scopes that a complete answer replaces, grouped by shape: scopes of one shape are one statement. Pure.

import type { Scope } from './rows.ts'

/** Scopes that name the same columns and range. */
export type ScopeGroup = { readonly shape: Pick<Scope, 'columns' | 'from'>; readonly scopes: readonly Scope[] }

/** Groups scopes by the columns they name, in the order in which the shapes first appear. */
export function groupScopes(scopes: readonly Scope[]): readonly ScopeGroup[] {
  const groups = new Map<string, Scope[]>()
  for (const scope of scopes) {
    const shape = JSON.stringify([scope.columns, scope.from?.column ?? null])
    const group = groups.get(shape)
    if (group === undefined) groups.set(shape, [scope])
    else group.push(scope)
  }
  return [...groups.values()].flatMap((group) => (group[0] === undefined ? [] : [{ shape: group[0], scopes: group }]))
}

/** One array per column of the shape and, with a range, its two ends: the parameters of a statement over the group. */
export function scopeParameters({ shape, scopes }: ScopeGroup): readonly (readonly (string | null)[])[] {
  const values = shape.columns.map((_, index) => scopes.map((scope) => scope.values[index] ?? null))
  if (shape.from === undefined) return values
  return [...values, scopes.map((scope) => scope.from?.value ?? null), scopes.map((scope) => scope.from?.to ?? null)]
}
