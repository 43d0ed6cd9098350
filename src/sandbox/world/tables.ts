// The kinds of records the world holds, by the name of the table a mirror keeps them in, and how each is keyed.

interface TableKey {
  /** Field that holds the record's own key; null where the record has none. */
  readonly field: 'id' | 'code' | null
  readonly kind: 'integer' | 'string'
}

const integerId: TableKey = { field: 'id', kind: 'integer' }
const noId: TableKey = { field: null, kind: 'integer' }

/** Reference lists (docs/sources.md, 4.5): table name to the path of the list. */
export const referencePaths = {
  administrative_area_level1: 'administrativeAreaLevel1',
  administrative_area_level2: 'administrativeAreaLevel2',
  cities: 'cities',
  countries: 'countries',
  harbours: 'harbours',
  navigation_areas: 'navigationAreas',
  characteristics: 'characteristics',
  company_legal_forms: 'companyLegalForms',
  equipments: 'equipments',
  rental_payment_methods: 'rentalPaymentMethods',
  subtypes: 'subtypes',
  types: 'types',
  user_license_types: 'userLicenseTypes',
} as const

export type ReferenceTable = keyof typeof referencePaths
export const referenceTables = Object.keys(referencePaths) as readonly ReferenceTable[]

/** How each kind of stored record is keyed. `versions` is embedded only: no endpoint shows it alone. */
export const tableKeys = {
  administrative_area_level1: integerId,
  administrative_area_level2: integerId,
  cities: integerId,
  countries: { field: 'code', kind: 'string' },
  harbours: integerId,
  navigation_areas: integerId,
  characteristics: integerId,
  company_legal_forms: integerId,
  equipments: integerId,
  rental_payment_methods: integerId,
  subtypes: integerId,
  types: integerId,
  user_license_types: integerId,
  versions: integerId,
  companies: integerId,
  resources: { field: 'id', kind: 'string' },
  resource_options: integerId,
  resource_pricings: integerId,
  resource_unavailabilities: noId,
  rentals: integerId,
  rental_options: integerId,
  rental_payments: integerId,
  rental_crew_members: integerId,
  users: integerId,
  user_identities: noId,
  user_licenses: noId,
} satisfies Record<string, TableKey>

export type Table = keyof typeof tableKeys
