// The reference lists (docs/sources.md, 2.1, 4.5): for each its path, its record type and its records, true places and
// believable boats, the same in every world. Tables, operations, handlers and generated records follow from here.

import type { TObject } from 'typebox'
import * as boats from '../data/boats.ts'
import { countries, harbours } from '../data/places.ts'
import { embedded, integer, number, record, text } from './schema.ts'

export const Country = record('Country', 'A country', {
  code: text('Country code, two letters'),
  name: text('Country name'),
})

const AdministrativeAreaLevel1 = record('AdministrativeAreaLevel1', 'A region', {
  id: integer('Area ID'),
  name: text('Area name'),
  country: embedded(Country, 'Country of the area'),
})

const AdministrativeAreaLevel2 = record('AdministrativeAreaLevel2', 'A department or province', {
  id: integer('Area ID'),
  name: text('Area name'),
  administrativeAreaLevel1: embedded(AdministrativeAreaLevel1, 'Area of level 1 around it'),
})

const NavigationArea = record('NavigationArea', 'Waters that boats sail in', {
  id: integer('Area ID'),
  name: text('Area name'),
  country: embedded(Country, 'Country of the waters'),
})

export const City = record('City', 'A city', {
  id: integer('City ID'),
  name: text('City name'),
  latitude: number('Geographical latitude of the city'),
  longitude: number('Geographical longitude of the city'),
  postalCode: text('City postal code'),
  navigationArea: embedded(NavigationArea, 'Navigation area'),
  administrativeAreaLevel2: embedded(AdministrativeAreaLevel2, 'Administrative area level 2'),
})

export const Harbour = record('Harbour', 'A harbour, also embedded in resources and rentals', {
  id: integer('Harbour ID'),
  name: text('Harbour name'),
  latitude: number('Latitude of the harbour'),
  longitude: number('Longitude of the harbour'),
  city: embedded(City, 'City'),
})

export const CompanyLegalForm = record('CompanyLegalForm', 'Legal form of a company', {
  id: integer('Legal form ID'),
  name: text('Legal form name'),
})

/** Its shape is not documented: made up. */
export const RentalPaymentMethod = record('RentalPaymentMethod', 'A way of paying', {
  id: integer('Payment method ID'),
  key: text('Unique code'),
  name: text('Name'),
})

const ResourceType = record('Type', 'A type of boat', {
  id: integer('Type ID'),
  name: text('Type name'),
  description: text('Description'),
})

export const Subtype = record('Subtype', 'A subtype of boat', {
  id: integer('Subtype ID'),
  name: text('Subtype name'),
  description: text('Description'),
  type: embedded(ResourceType, 'Type it belongs to'),
})

export const UserLicenseType = record('UserLicenseType', 'A kind of boating license', {
  id: integer('License type ID'),
  name: text('License type name'),
})

/** What an entry of a resource contains of its kind; the shape of the kind itself is not documented. */
export const kindFields = {
  id: integer('Element ID'),
  key: text('Unique code identifying the entry'),
  name: text('Name'),
  familyName: text('Family or group name'),
  unit: text('QUANTITY, METRE, HORSEPOWER, LITRE, WEIGHT, SPEED'),
}

interface ReferenceRecord {
  /** Its key, where that is no number. */
  readonly key?: string
  readonly own: Readonly<Record<string, unknown>>
  /** Linked records by field: the list of each (an earlier one), and its name there or its code. */
  readonly links?: Readonly<Record<string, readonly [table: string, name: string]>>
}

interface ReferenceList {
  /** Paths below `/v3/` of the list and of the single read. */
  readonly path: string
  readonly single: string
  /** The single read's path parameter. */
  readonly parameter: string
  readonly record: TObject
  /** Id of the first record; null: they are keyed by `code`. */
  readonly firstId: number | null
  readonly records: readonly ReferenceRecord[]
}

function list(single: string, record: TObject, firstId: number | null, records: ReferenceRecord[]): ReferenceList {
  const [path = '', parameter = ''] = single.split(/\/\{|\}/)
  return { path, single, parameter, record, firstId, records }
}

/** Records whose fields are in rows; a row that is too short ends with null. */
const rows = (items: readonly (readonly unknown[])[], ...fields: string[]): ReferenceRecord[] =>
  items.map((item) => ({ own: Object.fromEntries(fields.map((field, index) => [field, item[index] ?? null])) }))

/** One item for each name, the last one of that name. */
const unique = <T>(items: readonly T[], name: keyof T): T[] => [
  ...new Map(items.map((item) => [item[name], item])).values(),
]

const lists = {
  countries: list(
    'countries/{countryCode}',
    Country,
    null,
    countries.map(([key, name]) => ({ key, own: { name } })),
  ),
  administrative_area_level1: list(
    'administrativeAreaLevel1/{administrativeAreaLevel1Id}',
    AdministrativeAreaLevel1,
    11,
    unique(harbours, 'level1').map(({ level1, country }) => ({
      own: { name: level1 },
      links: { country: ['countries', country] },
    })),
  ),
  administrative_area_level2: list(
    'administrativeAreaLevel2/{administrativeAreaLevel2Id}',
    AdministrativeAreaLevel2,
    201,
    unique(harbours, 'level2').map(({ level2, level1 }) => ({
      own: { name: level2 },
      links: { administrativeAreaLevel1: ['administrative_area_level1', level1] },
    })),
  ),
  navigation_areas: list(
    'navigationAreas/{navigationAreaId}',
    NavigationArea,
    31,
    unique(harbours, 'waters').map(({ waters, country }) => ({
      own: { name: waters },
      links: { country: ['countries', country] },
    })),
  ),
  cities: list(
    'cities/{cityId}',
    City,
    1001,
    unique(harbours, 'city').map(({ city, latitude, longitude, postalCode, level2, waters }) => ({
      own: { name: city, latitude, longitude, postalCode },
      links: {
        navigationArea: ['navigation_areas', waters],
        administrativeAreaLevel2: ['administrative_area_level2', level2],
      },
    })),
  ),
  harbours: list(
    'harbours/{harbourId}',
    Harbour,
    12,
    harbours.map(({ name, latitude, longitude, city }) => ({
      own: { name, latitude, longitude },
      links: { city: ['cities', city] },
    })),
  ),
  characteristics: list(
    'characteristics/{characteristicId}',
    record('Characteristic', 'A kind of characteristic', kindFields),
    1,
    rows(boats.characteristics, 'key', 'name', 'familyName', 'unit'),
  ),
  equipments: list(
    'equipments/{equipmentId}',
    record('Equipment', 'A kind of equipment', kindFields),
    101,
    rows(boats.equipments, 'key', 'name', 'familyName', 'unit'),
  ),
  company_legal_forms: list(
    'companyLegalForms/{companyLegalFormId}',
    CompanyLegalForm,
    1,
    rows(boats.legalForms, 'name'),
  ),
  rental_payment_methods: list(
    'rentalPaymentMethods/{rentalPaymentId}',
    RentalPaymentMethod,
    1,
    rows(boats.paymentMethods, 'key', 'name'),
  ),
  types: list('types/{typeId}', ResourceType, 1, rows(boats.types, 'name', 'description')),
  subtypes: list(
    'subtypes/{subtypeId}',
    Subtype,
    21,
    boats.subtypes.map(([name, type]) => ({ own: { name, description: null }, links: { type: ['types', type] } })),
  ),
  user_license_types: list(
    'userLicenseTypes/{userLicenseTypeId}',
    UserLicenseType,
    1,
    rows(boats.licenseTypes, 'name'),
  ),
}

/** The name of a reference list: the table a mirror keeps it in. */
export type ReferenceTable = keyof typeof lists
export const references: Readonly<Record<ReferenceTable, ReferenceList>> = lists
export const referenceTables = Object.keys(references) as readonly ReferenceTable[]
