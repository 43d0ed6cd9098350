// Scopes that complete answers replace, grouped by shape: scopes of one shape are one statement. Pure.

import type { Scope, TableWrite } from './rows.ts'

/** What the scopes of one statement have in common: the columns they name, and the column of the range. */
export type ScopeShape = Pick<Scope, 'columns' | 'from'>

/** A scope with the answer that replaces it. */
export type AnsweredScope = Scope & Pick<TableWrite, 'readAt' | 'source'>

/** Scopes that name the same columns and range. */
export type ScopeGroup = { readonly shape: ScopeShape; readonly scopes: readonly AnsweredScope[] }

/** Groups the scopes of some tables by the columns they name, in the order in which the shapes first appear. */
export function groupScopes(tables: readonly TableWrite[]): readonly ScopeGroup[] {
  const groups = new Map<string, AnsweredScope[]>()
  for (const { replace = [], readAt, source } of tables)
    for (const scope of replace) {
      const shape = JSON.stringify([scope.columns, scope.from?.column ?? null])
      const group = groups.get(shape)
      if (group === undefined) groups.set(shape, [{ ...scope, readAt, source }])
      else group.push({ ...scope, readAt, source })
    }
  return [...groups.values()].flatMap((group) => (group[0] === undefined ? [] : [{ shape: group[0], scopes: group }]))
}

/**
 * The parameters of a statement over the group: reading times, sources, one array per column of the shape and, with a
 * range, its two ends.
 */
export function scopeParameters({ shape, scopes }: ScopeGroup): readonly (readonly (Date | string | null)[])[] {
  const answers = [scopes.map((scope) => scope.readAt), scopes.map((scope) => scope.source)]
  const values = shape.columns.map((_, index) => scopes.map((scope) => scope.values[index] ?? null))
  if (shape.from === undefined) return [...answers, ...values]
  const ends = [scopes.map((scope) => scope.from?.value ?? null), scopes.map((scope) => scope.from?.to ?? null)]
  return [...answers, ...values, ...ends]
}
