// Reference data: thirteen read-only lists (docs/sources.md, 4.5), not marked as paginated.

import { bigint, numeric, reference, text, unknownShape } from './columns.ts'
import type { Column, ReadEndpoint, StreamDef } from './types.ts'

type ReferenceList = {
  readonly name: string
  readonly path: string
  readonly param: string
  readonly comment: string
  readonly source: string
  readonly columns: readonly Column[]
  readonly key?: string
  readonly embeds?: StreamDef['embeds']
}

const referenceList = (list: ReferenceList): StreamDef => ({
  name: list.name,
  comment: list.comment,
  source: list.source,
  key: [list.key ?? 'id'],
  columns: list.columns,
  reads: {
    kind: 'list',
    list: `GET /v3/${list.path}` as ReadEndpoint,
    single: { endpoint: `GET /v3/${list.path}/{${list.param}}` as ReadEndpoint, param: list.param },
    paged: false,
  },
  freshness: 'detail',
  every: '24h',
  ...(list.embeds === undefined ? {} : { embeds: list.embeds }),
})

const id = (what: string): Column => bigint('id', `${what} ID. Read only.`)
const name = text('name', 'Name. Read only.')

export const countries = referenceList({
  name: 'countries',
  path: 'countries',
  param: 'countryCode',
  comment: 'Countries.',
  source: 'docs/sources.md, 2.1, 4.5',
  key: 'code',
  columns: [text('code', 'Country code. Read only.'), name],
})

export const administrativeAreaLevel1 = referenceList({
  name: 'administrative_area_level1',
  path: 'administrativeAreaLevel1',
  param: 'administrativeAreaLevel1Id',
  comment: 'Administrative areas of level 1 (regions).',
  source: 'docs/sources.md, 2.1, 4.5',
  columns: [
    id('Administrative area'),
    name,
    text('country.code', 'Country the area lies in: countries.code. Read only.', { reference: true }),
  ],
  embeds: [{ path: 'country', stream: 'countries' }],
})

export const administrativeAreaLevel2 = referenceList({
  name: 'administrative_area_level2',
  path: 'administrativeAreaLevel2',
  param: 'administrativeAreaLevel2Id',
  comment: 'Administrative areas of level 2 (departments).',
  source: 'docs/sources.md, 2.1, 4.5',
  columns: [
    id('Administrative area'),
    name,
    reference('administrativeAreaLevel1.id', 'Area of level 1: administrative_area_level1.id. Read only.'),
  ],
  embeds: [{ path: 'administrativeAreaLevel1', stream: 'administrative_area_level1' }],
})

export const navigationAreas = referenceList({
  name: 'navigation_areas',
  path: 'navigationAreas',
  param: 'navigationAreaId',
  comment: 'Navigation areas (waters).',
  source: 'docs/sources.md, 2.1, 4.5',
  columns: [
    id('Navigation area'),
    name,
    text('country.code', 'Country the area belongs to: countries.code. Read only.', { reference: true }),
  ],
  embeds: [{ path: 'country', stream: 'countries' }],
})

export const cities = referenceList({
  name: 'cities',
  path: 'cities',
  param: 'cityId',
  comment: 'Cities.',
  source: 'docs/sources.md, 2.1, 4.5',
  columns: [
    id('City'),
    text('name', 'City name. Read only.'),
    numeric('latitude', 'Geographical latitude of the city, degrees. Read only.'),
    numeric('longitude', 'Geographical longitude of the city, degrees. Read only.'),
    text('postalCode', 'City postal code. Read only.'),
    reference('navigationArea.id', 'Navigation area: navigation_areas.id. Read only.'),
    reference('administrativeAreaLevel2.id', 'Area of level 2: administrative_area_level2.id. Read only.'),
  ],
  embeds: [
    { path: 'navigationArea', stream: 'navigation_areas' },
    { path: 'administrativeAreaLevel2', stream: 'administrative_area_level2' },
  ],
})

export const harbours = referenceList({
  name: 'harbours',
  path: 'harbours',
  param: 'harbourId',
  comment: 'Harbours.',
  source: 'docs/sources.md, 2.1, 4.5',
  columns: [
    id('Harbour'),
    text('name', 'Harbour name. Read only.'),
    numeric('latitude', 'Latitude of the harbour, degrees. Read only.'),
    numeric('longitude', 'Longitude of the harbour, degrees. Read only.'),
    reference('city.id', 'City: cities.id. Read only.'),
  ],
  embeds: [{ path: 'city', stream: 'cities' }],
})

export const characteristics = referenceList({
  name: 'characteristics',
  path: 'characteristics',
  param: 'characteristicId',
  comment: 'Resource characteristics. Shape not published; the whole record is in _payload.',
  source: 'docs/sources.md, 4.5',
  columns: unknownShape(id('Characteristic')),
})

export const companyLegalForms = referenceList({
  name: 'company_legal_forms',
  path: 'companyLegalForms',
  param: 'companyLegalFormId',
  comment: 'Legal forms of companies. Shape not published beyond id and name.',
  source: 'docs/sources.md, 2.2, 4.5',
  columns: [id('Legal form'), text('name', 'Name.', { lenient: true })],
})

export const equipments = referenceList({
  name: 'equipments',
  path: 'equipments',
  param: 'equipmentId',
  comment: 'Resource equipments. Shape not published; the whole record is in _payload.',
  source: 'docs/sources.md, 4.5',
  columns: unknownShape(id('Equipment')),
})

export const rentalPaymentMethods = referenceList({
  name: 'rental_payment_methods',
  path: 'rentalPaymentMethods',
  param: 'rentalPaymentId',
  comment: 'Payment methods of rentals. Shape not published; the whole record is in _payload.',
  source: 'docs/sources.md, 4.5',
  columns: unknownShape(id('Payment method')),
})

export const types = referenceList({
  name: 'types',
  path: 'types',
  param: 'typeId',
  comment: 'Resource types, in the form embedded in resources.',
  source: 'docs/sources.md, 2.3, 4.5',
  columns: [
    id('Type'),
    text('name', 'Name.', { lenient: true }),
    text('description', 'Description.', { lenient: true }),
  ],
})

export const subtypes = referenceList({
  name: 'subtypes',
  path: 'subtypes',
  param: 'subtypeId',
  comment: 'Resource subtypes, in the form embedded in resources.',
  source: 'docs/sources.md, 2.3, 4.5',
  columns: [
    id('Subtype'),
    text('name', 'Name.', { lenient: true }),
    text('description', 'Description.', { lenient: true }),
    reference('type.id', 'Type: types.id.', { lenient: true }),
  ],
  embeds: [{ path: 'type', stream: 'types' }],
})

export const userLicenseTypes = referenceList({
  name: 'user_license_types',
  path: 'userLicenseTypes',
  param: 'userLicenseTypeId',
  comment: 'Kinds of boating licenses. Shape not published; the whole record is in _payload.',
  source: 'docs/sources.md, 4.5',
  columns: unknownShape(id('License type')),
})
