// Reference data: read-only lists (docs/sources.md, 4.5), not marked as paginated, in the order in which they are read.

import { bigint, numeric, reference, text, unknownShape } from './columns.ts'
import type { Column, ReadEndpoint, StreamDef } from './types.ts'

type ReferenceList = Pick<StreamDef, 'name' | 'comment' | 'source' | 'columns' | 'alsoKnown' | 'embeds'> & {
  readonly list: ReadEndpoint
  readonly single: ReadEndpoint
  readonly key?: string
}

const id = (what: string): Column => bigint('id', `${what} ID. Read only.`)
const name = text('name', 'Name. Read only.')

const lists: readonly ReferenceList[] = [
  {
    name: 'countries',
    list: 'GET /v3/countries',
    single: 'GET /v3/countries/{countryCode}',
    comment: 'Countries.',
    source: 'docs/sources.md, 2.1, 4.5',
    key: 'code',
    columns: [text('code', 'Country code. Read only.'), name],
  },
  {
    name: 'administrative_area_level1',
    list: 'GET /v3/administrativeAreaLevel1',
    single: 'GET /v3/administrativeAreaLevel1/{administrativeAreaLevel1Id}',
    comment: 'Administrative areas of level 1 (regions).',
    source: 'docs/sources.md, 2.1, 4.5',
    columns: [
      id('Administrative area'),
      name,
      text('country.code', 'Country of the area: countries.code. Read only.', { reference: true }),
    ],
    embeds: [{ path: 'country', stream: 'countries' }],
  },
  {
    name: 'administrative_area_level2',
    list: 'GET /v3/administrativeAreaLevel2',
    single: 'GET /v3/administrativeAreaLevel2/{administrativeAreaLevel2Id}',
    comment: 'Administrative areas of level 2 (departments).',
    source: 'docs/sources.md, 2.1, 4.5',
    columns: [
      id('Administrative area'),
      name,
      reference('administrativeAreaLevel1.id', 'Area of level 1: administrative_area_level1.id. Read only.'),
    ],
    embeds: [{ path: 'administrativeAreaLevel1', stream: 'administrative_area_level1' }],
  },
  {
    name: 'navigation_areas',
    list: 'GET /v3/navigationAreas',
    single: 'GET /v3/navigationAreas/{navigationAreaId}',
    comment: 'Navigation areas (waters).',
    source: 'docs/sources.md, 2.1, 4.5',
    columns: [
      id('Navigation area'),
      name,
      text('country.code', 'Country of the area: countries.code. Read only.', { reference: true }),
    ],
    embeds: [{ path: 'country', stream: 'countries' }],
  },
  {
    name: 'cities',
    list: 'GET /v3/cities',
    single: 'GET /v3/cities/{cityId}',
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
  },
  {
    name: 'harbours',
    list: 'GET /v3/harbours',
    single: 'GET /v3/harbours/{harbourId}',
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
  },
  {
    name: 'characteristics',
    list: 'GET /v3/characteristics',
    single: 'GET /v3/characteristics/{characteristicId}',
    comment: 'Resource characteristics. Shape not published; the whole record is in _payload.',
    source: 'docs/sources.md, 4.5',
    columns: unknownShape(id('Characteristic')),
    alsoKnown: ['familyName', 'unit'],
  },
  {
    name: 'equipments',
    list: 'GET /v3/equipments',
    single: 'GET /v3/equipments/{equipmentId}',
    comment: 'Resource equipments. Shape not published; the whole record is in _payload.',
    source: 'docs/sources.md, 4.5',
    columns: unknownShape(id('Equipment')),
    alsoKnown: ['familyName', 'unit'],
  },
  {
    name: 'company_legal_forms',
    list: 'GET /v3/companyLegalForms',
    single: 'GET /v3/companyLegalForms/{companyLegalFormId}',
    comment: 'Legal forms of companies. Shape not published beyond id and name.',
    source: 'docs/sources.md, 2.2, 4.5',
    columns: [id('Legal form'), text('name', 'Name.', { lenient: true })],
  },
  {
    name: 'rental_payment_methods',
    list: 'GET /v3/rentalPaymentMethods',
    single: 'GET /v3/rentalPaymentMethods/{rentalPaymentId}',
    comment: 'Payment methods of rentals. Shape not published; the whole record is in _payload.',
    source: 'docs/sources.md, 4.5',
    columns: unknownShape(id('Payment method')),
  },
  {
    name: 'types',
    list: 'GET /v3/types',
    single: 'GET /v3/types/{typeId}',
    comment: 'Resource types, in the form embedded in resources.',
    source: 'docs/sources.md, 2.3, 4.5',
    columns: [
      id('Type'),
      text('name', 'Name.', { lenient: true }),
      text('description', 'Description.', { lenient: true }),
    ],
  },
  {
    name: 'subtypes',
    list: 'GET /v3/subtypes',
    single: 'GET /v3/subtypes/{subtypeId}',
    comment: 'Resource subtypes, in the form embedded in resources.',
    source: 'docs/sources.md, 2.3, 4.5',
    columns: [
      id('Subtype'),
      text('name', 'Name.', { lenient: true }),
      text('description', 'Description.', { lenient: true }),
      reference('type.id', 'Type: types.id.', { lenient: true }),
    ],
    embeds: [{ path: 'type', stream: 'types' }],
  },
  {
    name: 'user_license_types',
    list: 'GET /v3/userLicenseTypes',
    single: 'GET /v3/userLicenseTypes/{userLicenseTypeId}',
    comment: 'Kinds of boating licenses. Shape not published; the whole record is in _payload.',
    source: 'docs/sources.md, 4.5',
    columns: unknownShape(id('License type')),
  },
]

/** The streams of all of them. */
export const referenceStreams: readonly StreamDef[] = lists.map(({ list, single, key = 'id', ...rest }) => ({
  ...rest,
  key: [key],
  reads: {
    kind: 'list',
    list,
    single: { endpoint: single, param: single.slice(single.indexOf('{') + 1, -1), repeats: list },
    paged: false,
  },
  freshness: 'detail',
  every: '24h',
}))
