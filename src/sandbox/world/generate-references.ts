// The 13 reference lists: true places, boat types and kinds of things, the same in every world whatever its size.

import * as boats from '../data/boats.ts'
import * as places from '../data/places.ts'
import { createEntity, type Entity } from './entity.ts'
import type { ReferenceTable, Table } from './tables.ts'
import type { World } from './world.ts'

/** Looks a reference record up by its `name`; throws when the data are inconsistent. */
export function referenceByName(world: World, table: ReferenceTable, name: string): Entity {
  for (const entity of world.references[table].records.values()) if (entity.own.name === name) return entity
  throw new Error(`The sandbox's data name no ${table} called ${name}`)
}

const unique = <T>(items: readonly T[], name: keyof T): T[] => [
  ...new Map(items.map((item) => [item[name], item])).values(),
]

/** Fills all reference lists and the boat versions. */
export function generateReferences(world: World): void {
  const load = <T>(
    table: ReferenceTable,
    first: number,
    items: readonly T[],
    fieldsOf: (item: T) => readonly [Entity['own'], Entity['links']?],
  ): void =>
    world.references[table].records.load(
      items.map((item) => createEntity(table, world.nextId(table, first), ...fieldsOf(item))),
    )
  const find = (table: ReferenceTable, name: string): Entity => referenceByName(world, table, name)

  world.references.countries.records.load(
    places.countries.map(([code, name]) => createEntity('countries', code, { name })),
  )
  const country = (code: string): Entity | null => world.references.countries.records.get(code) ?? null

  const { harbours } = places
  load('administrative_area_level1', 11, unique(harbours, 'level1'), (each) => [
    { name: each.level1 },
    { country: country(each.country) },
  ])
  load('administrative_area_level2', 201, unique(harbours, 'level2'), (each) => [
    { name: each.level2 },
    { administrativeAreaLevel1: find('administrative_area_level1', each.level1) },
  ])
  load('navigation_areas', 31, unique(harbours, 'waters'), (each) => [
    { name: each.waters },
    { country: country(each.country) },
  ])
  load('cities', 1001, unique(harbours, 'city'), ({ city, latitude, longitude, postalCode, level2, waters }) => [
    { name: city, latitude, longitude, postalCode },
    {
      navigationArea: find('navigation_areas', waters),
      administrativeAreaLevel2: find('administrative_area_level2', level2),
    },
  ])
  load('harbours', 12, harbours, ({ name, latitude, longitude, city }) => [
    { name, latitude, longitude },
    { city: find('cities', city) },
  ])
  load('characteristics', 1, boats.characteristics, ([key, name, familyName, unit]) => [
    { key, name, familyName, unit },
  ])
  load('equipments', 101, boats.equipments, ([key, name, familyName]) => [{ key, name, familyName, unit: null }])
  load('company_legal_forms', 1, boats.legalForms, (name) => [{ name }])
  load('rental_payment_methods', 1, boats.paymentMethods, ([key, name]) => [{ key, name }])
  load('user_license_types', 1, boats.licenseTypes, (name) => [{ name }])
  load('types', 1, boats.types, ([name, description]) => [{ name, description }])
  load('subtypes', 21, boats.subtypes, ([name, type]) => [{ name, description: null }, { type: find('types', type) }])
  generateVersions(world)
}

/** A picture in four sizes; the address is of a host that does not exist. */
export const picture = (name: string) => {
  const size = (label: string, width: number) => ({
    height: Math.round((width * 2) / 3),
    uri: `https://images.example.com/${label}/${name}.jpg`,
    width,
  })
  return {
    large: size('large', 1600),
    medium: size('medium', 800),
    original: size('original', 3000),
    small: size('small', 320),
  }
}

/** One version for each known model; builders, ranges and models have no endpoint of their own. */
function generateVersions(world: World): void {
  const builders = [...new Set(boats.models.map(([builder]) => builder))]
  const table: Table = 'versions'
  world.versions.load(
    boats.models.map(([builder, range, model, name, subtype], index) =>
      createEntity(
        table,
        world.nextId(table, 501),
        {
          name,
          description: `${builder} ${name}`,
          images: { cover: picture(`version-${index}`), others: [] },
          model: {
            id: 401 + index,
            name: model,
            description: null,
            range: {
              id: 301 + index,
              name: range,
              description: null,
              builder: { id: 51 + builders.indexOf(builder), name: builder, description: null },
            },
          },
        },
        { subtype: referenceByName(world, 'subtypes', subtype) },
      ),
    ),
  )
}
