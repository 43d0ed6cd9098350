// Which resources have several boats, as their slots show. Pure.

import type { TableWrite } from '../../mirror/rows.ts'

/** The resources of which a slot among what was read shows more than one boat free. */
export const fleetsIn = (tables: readonly TableWrite[]): readonly string[] =>
  tables
    .filter(({ stream }) => stream.name === 'resource_slots')
    .flatMap(({ stream, rows }) => {
      const place = stream.columns.findIndex(({ name }) => name === 'nb_resources_available')
      return rows.filter(({ values }) => Number(values[place] ?? 0) > 1).map(({ key }) => key[0] ?? '')
    })
