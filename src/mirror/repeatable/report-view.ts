// What a view of schema `report` is, as data, and the statements that make it.

import { identifier, literal } from './step.ts'

export type ReportView = {
  readonly name: string
  /** Which rows it has, and what a reader must know; becomes the view's comment. */
  readonly comment: string
  /** Column → its SQL and its meaning, in order. */
  readonly columns: Readonly<Record<string, readonly [sql: string, comment: string]>>
  /** Everything from `from` on. */
  readonly source: string
  /** The order in which a person wants to read it. */
  readonly orderBy: string
}

/** The select of a view. */
export function reportQuery({ columns, source }: Pick<ReportView, 'columns' | 'source'>): string {
  const list = Object.entries(columns).map(([name, [sql]]) => `${sql} as ${identifier(name)}`)
  return `select ${list.join(',\n  ')}\n${source}`
}

/**
 * Statements that make a view and explain it. It is replaced in place where Postgres can, so that what people built on it
 * stays; only a view that lost or renamed a column is dropped with them.
 */
export function reportStatements(view: ReportView): string {
  const name = `report.${identifier(view.name)}`
  const create = `create or replace view ${name} as ${reportQuery(view)}`
  return [
    `do $do$ begin
  execute ${literal(create)};
exception when invalid_table_definition then
  drop view ${name} cascade;
  execute ${literal(create)};
end $do$;`,
    `comment on view ${name} is ${literal(view.comment)};`,
    ...Object.entries(view.columns).map(
      ([column, [, comment]]) => `comment on column ${name}.${identifier(column)} is ${literal(comment)};`,
    ),
  ].join('\n')
}
