// The tables of the mirror: one for each record type of the API, with typed columns and the whole record as payload.
// Why so: the source decides what exists, so nothing here refuses a record: no foreign keys, no check, no unique
// constraint beyond the key, ids as bigint or text, money as numeric, enumerations as text.

import { type Kysely, sql } from 'kysely'

type Table = { readonly key: string; readonly indexed?: readonly string[]; readonly columns: string }

/** Reference data: hardly ever changes. */
const still: Readonly<Record<string, Table>> = {
  countries: { key: 'code', columns: 'code text not null, name text' },
  administrative_area_level1: {
    key: 'id',
    indexed: ['country_code'],
    columns: `
      id bigint not null, name text, country_code text`,
  },
  administrative_area_level2: {
    key: 'id',
    indexed: ['administrative_area_level1_id'],
    columns: `
      id bigint not null, name text, administrative_area_level1_id bigint`,
  },
  navigation_areas: {
    key: 'id',
    indexed: ['country_code'],
    columns: `
      id bigint not null, name text, country_code text`,
  },
  cities: {
    key: 'id',
    indexed: ['navigation_area_id', 'administrative_area_level2_id'],
    columns: `
      id bigint not null, name text, latitude numeric, longitude numeric, postal_code text,
      navigation_area_id bigint, administrative_area_level2_id bigint`,
  },
  harbours: {
    key: 'id',
    indexed: ['city_id'],
    columns: `
      id bigint not null, name text, latitude numeric, longitude numeric, city_id bigint`,
  },
  characteristics: { key: 'id', columns: 'id bigint not null, key text, name text' },
  equipments: { key: 'id', columns: 'id bigint not null, key text, name text' },
  company_legal_forms: { key: 'id', columns: 'id bigint not null, name text' },
  rental_payment_methods: { key: 'id', columns: 'id bigint not null, key text, name text' },
  types: { key: 'id', columns: 'id bigint not null, name text, description text' },
  subtypes: {
    key: 'id',
    indexed: ['type_id'],
    columns: `
      id bigint not null, name text, description text, type_id bigint`,
  },
  user_license_types: { key: 'id', columns: 'id bigint not null, key text, name text' },
}

/** Records and their details. */
const moving: Readonly<Record<string, Table>> = {
  companies: {
    key: 'id',
    indexed: ['address_city_id', 'company_legal_form_id'],
    columns: `
      id bigint not null, address_city_id bigint, address_postal_code text, address_street1 text,
      address_street2 text, company_brand_name text, company_contact_email text, company_contact_phone jsonb,
      company_legal_form_id bigint, company_legal_reason text, company_logo text, company_siret_number text,
      company_vat_number text, company_website_url text`,
  },
  resources: {
    key: 'id',
    indexed: ['company_id', 'harbour_id', 'subtype_id', 'type_id'],
    columns: `
      id text not null, boat_id bigint, name text, description text, creation_datetime timestamptz,
      last_modification_datetime timestamptz, min_price numeric, is_license_mandatory boolean,
      is_rentable boolean, is_skipper_available boolean, is_skipper_mandatory boolean, company_id bigint,
      harbour_id bigint, images jsonb, version_id bigint, version_name text, version_description text,
      version_images jsonb, model_id bigint, model_name text, model_description text, range_id bigint,
      range_name text, range_description text, builder_id bigint, builder_name text, builder_description text,
      subtype_id bigint, type_id bigint`,
  },
  resource_characteristics: {
    key: 'resource_id, id',
    columns: `
      resource_id text not null, id bigint not null, key text, name text, family_name text, comment text,
      unit text, value text`,
  },
  resource_equipments: {
    key: 'resource_id, id',
    columns: `
      resource_id text not null, id bigint not null, key text, name text, family_name text, comment text,
      unit text, value text`,
  },
  resource_durations: {
    key: 'resource_id, type, value',
    columns: `
      resource_id text not null, type text not null, value text not null, position bigint`,
  },
  resource_options: {
    key: 'resource_id, id',
    columns: `
      resource_id text not null, id bigint not null, name text, description text, is_mandatory boolean,
      type jsonb, subtype jsonb, prices jsonb`,
  },
  resource_pricetable: {
    key: 'resource_id, date, duration',
    indexed: ['date'],
    columns: `
      resource_id text not null, date date not null, duration text not null, base_price numeric, currency jsonb`,
  },
  resource_pricings: {
    key: 'resource_id, key',
    columns: `
      resource_id text not null, key text not null, id text, name text`,
  },
  resource_slot_tides: {
    key: 'resource_id, slot_id, key',
    columns: `
      resource_id text not null, slot_id text not null, key text not null, id text, name text`,
  },
  users: {
    key: 'id',
    indexed: ['address_country_code', 'nationality_code'],
    columns: `
      id bigint not null, creation_datetime timestamptz, last_modification_datetime timestamptz,
      deactivated boolean, civility text, first_name text, last_name text, birth_date date, email text,
      landline_phone text, mobile_phone text, address_street1 text, address_street2 text,
      address_postal_code text, address_city text, address_state text, address_country_code text,
      nationality_code text, language_code text, organization_type text, organization_name text,
      organization_vat_number text`,
  },
  user_identities: { key: 'user_id', columns: 'user_id bigint not null, number text, type text' },
  user_licenses: {
    key: 'user_id',
    indexed: ['country_code', 'type_id'],
    columns: `
      user_id bigint not null, country_code text, number text, type_id bigint, year bigint`,
  },
  rentals: {
    key: 'id',
    indexed: ['departure_harbour_id', 'arrival_harbour_id', 'user_id', 'resource_id', 'company_id'],
    columns: `
      id bigint not null, creation_datetime timestamptz, last_modification_datetime timestamptz,
      departure_datetime timestamptz, arrival_datetime timestamptz, departure_harbour_id bigint,
      arrival_harbour_id bigint, crew_adults bigint, crew_children bigint, message text, status text,
      deposit_status text, deposit_price numeric, deposit_currency jsonb, payment_progress numeric,
      total_paid numeric, total_to_pay numeric, rental_price numeric, discount_price numeric,
      commission_price numeric, contract_link text, order_link text, reference_id text, user_id bigint,
      resource_id text, company_id bigint`,
  },
  rental_resources: {
    key: 'rental_id',
    indexed: ['resource_id'],
    columns: `
      rental_id bigint not null, id bigint, price numeric, fees numeric, vat_rate numeric,
      down_payment_price numeric, down_payment_rate numeric, resource_id text`,
  },
  rental_options: {
    key: 'rental_id, id',
    indexed: ['option_id'],
    columns: `
      rental_id bigint not null, id bigint not null, option_id bigint, price numeric, quantity bigint,
      fees numeric, vat_rate numeric, down_payment_rate numeric`,
  },
  rental_payments: {
    key: 'rental_id, id',
    indexed: ['method_id'],
    columns: `
      rental_id bigint not null, id bigint not null, currency jsonb, method jsonb, method_id bigint,
      price numeric, reference text`,
  },
  rental_crew_members: {
    key: 'rental_id, id',
    columns: `
      rental_id bigint not null, id bigint not null, email text, first_name text, last_name text, type text`,
  },
}

/** What every booking changes: calendars, availability, slots. */
const lively: Readonly<Record<string, Table>> = {
  resource_availability_years: {
    key: 'resource_id, year',
    columns: `
      resource_id text not null, year bigint not null, days text`,
  },
  resource_unavailabilities: {
    key: 'resource_id, key',
    columns: `
      resource_id text not null, key text not null, id text, name text`,
  },
  resource_availability: {
    key: 'resource_id, date, duration',
    indexed: ['date'],
    columns: `
      resource_id text not null, date date not null, duration text not null, is_available boolean, price numeric,
      currency jsonb, rental_delay_min text, rental_delay_is_too_small boolean, rental_duration_min text,
      rental_duration_is_too_small boolean`,
  },
  resource_slots: {
    key: 'resource_id, id',
    indexed: ['date'],
    columns: `
      resource_id text not null, id text not null, date date, duration text, departure_datetime timestamptz,
      arrival_datetime timestamptz, price numeric, currency jsonb, nb_resources_available bigint`,
  },
  resource_slot_options: {
    key: 'resource_id, slot_id, id',
    indexed: ['option_id'],
    columns: `
      resource_id text not null, slot_id text not null, id bigint not null, option_id bigint,
      is_included boolean, is_stock_limited boolean, price numeric, quantity_min bigint, quantity_max bigint`,
  },
}

/** What every table has besides its own columns. */
const bookkeeping = `_payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz`

async function createTables(
  db: Kysely<unknown>,
  tables: Readonly<Record<string, Table>>,
  storage: string,
): Promise<void> {
  for (const [name, { key, columns, indexed = [] }] of Object.entries(tables)) {
    const statements = [
      `create table mirror.${name} (${columns}, ${bookkeeping}, primary key (${key})) ${storage}`,
      ...indexed.map((column) => `create index ${name}_${column} on mirror.${name} (${column})`),
    ]
    // Lists count what went lately before they let more go; what hangs below a record goes with it.
    if (key === 'id' || key === 'code')
      statements.push(`create index ${name}_gone on mirror.${name} (_deleted_at) where _deleted_at is not null`)
    for (const statement of statements) await sql`${sql.raw(statement)}`.execute(db)
  }
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create schema if not exists mirror`.execute(db)
  await createTables(db, still, '')
  // What is rewritten often leaves room on its pages for it, and is vacuumed early.
  await createTables(db, moving, 'with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05)')
  await createTables(db, lively, 'with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05)')
}
