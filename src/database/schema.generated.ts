// The tables and views as Kysely sees them. Made by `npm run types` from a migrated database; a test holds it current.

import type { ColumnType, GeneratedAlways } from 'kysely'

/** pg returns bigint and numeric as text, so that no digit is lost. */
type Int8 = ColumnType<string, string | number | bigint, string | number | bigint>
type Numeric = ColumnType<string, string | number, string | number>
type Timestamp = ColumnType<Date, Date | string, Date | string>
type Interval = ColumnType<{ years?: number; months?: number; days?: number; hours?: number; minutes?: number; seconds?: number; milliseconds?: number }, string, string>
/** Read as a value, written as JSON text. */
type Json = ColumnType<unknown, string, string>
/** Optional in an insert. */
type Generated<T> = T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>

/** What every table of records has beside its own columns. */
type RecordColumns = {
  _payload: Json
  _source: string
  _read_at: Timestamp
  _changed_at: Generated<Timestamp>
  _deleted_at: Timestamp | null
}
/** The columns of a table but the hidden ones, in a view. Those of views count as nullable, because Postgres does not record more. */
type View<T extends keyof Records, Hidden extends keyof Records[T]> = { [C in Exclude<keyof Records[T], Hidden>]: Records[T][C] | null }

/** The tables of records. */
type Records = {
  'mirror.administrative_area_level1': RecordColumns & {
    id: Int8
    name: string | null
    country_code: string | null
  }
  'mirror.administrative_area_level2': RecordColumns & {
    id: Int8
    name: string | null
    administrative_area_level1_id: Int8 | null
  }
  'mirror.characteristics': RecordColumns & {
    id: Int8
    key: string | null
    name: string | null
  }
  'mirror.cities': RecordColumns & {
    id: Int8
    name: string | null
    latitude: Numeric | null
    longitude: Numeric | null
    postal_code: string | null
    navigation_area_id: Int8 | null
    administrative_area_level2_id: Int8 | null
  }
  'mirror.companies': RecordColumns & {
    id: Int8
    address_city_id: Int8 | null
    address_postal_code: string | null
    address_street1: string | null
    address_street2: string | null
    company_brand_name: string | null
    company_contact_email: string | null
    company_contact_phone: Json | null
    company_legal_form_id: Int8 | null
    company_legal_reason: string | null
    company_logo: string | null
    company_siret_number: string | null
    company_vat_number: string | null
    company_website_url: string | null
  }
  'mirror.company_legal_forms': RecordColumns & {
    id: Int8
    name: string | null
  }
  'mirror.countries': RecordColumns & {
    code: string
    name: string | null
  }
  'mirror.equipments': RecordColumns & {
    id: Int8
    key: string | null
    name: string | null
  }
  'mirror.harbours': RecordColumns & {
    id: Int8
    name: string | null
    latitude: Numeric | null
    longitude: Numeric | null
    city_id: Int8 | null
  }
  'mirror.navigation_areas': RecordColumns & {
    id: Int8
    name: string | null
    country_code: string | null
  }
  'mirror.rental_crew_members': RecordColumns & {
    rental_id: Int8
    id: Int8
    email: string | null
    first_name: string | null
    last_name: string | null
    type: string | null
  }
  'mirror.rental_options': RecordColumns & {
    rental_id: Int8
    id: Int8
    option_id: Int8 | null
    price: Numeric | null
    quantity: Int8 | null
    fees: Numeric | null
    vat_rate: Numeric | null
    down_payment_rate: Numeric | null
  }
  'mirror.rental_payment_methods': RecordColumns & {
    id: Int8
    key: string | null
    name: string | null
  }
  'mirror.rental_payments': RecordColumns & {
    rental_id: Int8
    id: Int8
    currency: Json | null
    method: Json | null
    method_id: Int8 | null
    price: Numeric | null
    reference: string | null
  }
  'mirror.rental_resources': RecordColumns & {
    rental_id: Int8
    id: Int8 | null
    price: Numeric | null
    fees: Numeric | null
    vat_rate: Numeric | null
    down_payment_price: Numeric | null
    down_payment_rate: Numeric | null
    resource_id: string | null
  }
  'mirror.rentals': RecordColumns & {
    id: Int8
    creation_datetime: Timestamp | null
    last_modification_datetime: Timestamp | null
    departure_datetime: Timestamp | null
    arrival_datetime: Timestamp | null
    departure_harbour_id: Int8 | null
    arrival_harbour_id: Int8 | null
    crew_adults: Int8 | null
    crew_children: Int8 | null
    message: string | null
    status: string | null
    deposit_status: string | null
    deposit_price: Numeric | null
    deposit_currency: Json | null
    payment_progress: Numeric | null
    total_paid: Numeric | null
    total_to_pay: Numeric | null
    rental_price: Numeric | null
    discount_price: Numeric | null
    commission_price: Numeric | null
    contract_link: string | null
    order_link: string | null
    reference_id: string | null
    user_id: Int8 | null
    resource_id: string | null
    company_id: Int8 | null
    departure_local: Timestamp | null
    arrival_local: Timestamp | null
  }
  'mirror.resource_availability': RecordColumns & {
    resource_id: string
    date: string
    duration: string
    is_available: boolean | null
    price: Numeric | null
    currency: Json | null
    rental_delay_min: string | null
    rental_delay_is_too_small: boolean | null
    rental_duration_min: string | null
    rental_duration_is_too_small: boolean | null
  }
  'mirror.resource_availability_years': RecordColumns & {
    resource_id: string
    year: Int8
    days: string | null
  }
  'mirror.resource_characteristics': RecordColumns & {
    resource_id: string
    id: Int8
    key: string | null
    name: string | null
    family_name: string | null
    comment: string | null
    unit: string | null
    value: string | null
  }
  'mirror.resource_durations': RecordColumns & {
    resource_id: string
    type: string
    value: string
    position: Int8 | null
  }
  'mirror.resource_equipments': RecordColumns & {
    resource_id: string
    id: Int8
    key: string | null
    name: string | null
    family_name: string | null
    comment: string | null
    unit: string | null
    value: string | null
  }
  'mirror.resource_options': RecordColumns & {
    resource_id: string
    id: Int8
    name: string | null
    description: string | null
    is_mandatory: boolean | null
    type: Json | null
    subtype: Json | null
    prices: Json | null
  }
  'mirror.resource_pricetable': RecordColumns & {
    resource_id: string
    date: string
    duration: string
    base_price: Numeric | null
    currency: Json | null
  }
  'mirror.resource_pricings': RecordColumns & {
    resource_id: string
    key: string
    id: string | null
    name: string | null
  }
  'mirror.resource_slot_options': RecordColumns & {
    resource_id: string
    slot_id: string
    id: Int8
    option_id: Int8 | null
    is_included: boolean | null
    is_stock_limited: boolean | null
    price: Numeric | null
    quantity_min: Int8 | null
    quantity_max: Int8 | null
  }
  'mirror.resource_slot_tides': RecordColumns & {
    resource_id: string
    slot_id: string
    key: string
    id: string | null
    name: string | null
  }
  'mirror.resource_slots': RecordColumns & {
    resource_id: string
    id: string
    date: string | null
    duration: string | null
    departure_datetime: Timestamp | null
    arrival_datetime: Timestamp | null
    price: Numeric | null
    currency: Json | null
    nb_resources_available: Int8 | null
  }
  'mirror.resource_unavailabilities': RecordColumns & {
    resource_id: string
    key: string
    id: string | null
    name: string | null
    start_datetime: Timestamp | null
    end_datetime: Timestamp | null
  }
  'mirror.resources': RecordColumns & {
    id: string
    boat_id: Int8 | null
    name: string | null
    description: string | null
    creation_datetime: Timestamp | null
    last_modification_datetime: Timestamp | null
    min_price: Numeric | null
    is_license_mandatory: boolean | null
    is_rentable: boolean | null
    is_skipper_available: boolean | null
    is_skipper_mandatory: boolean | null
    company_id: Int8 | null
    harbour_id: Int8 | null
    images: Json | null
    version_id: Int8 | null
    version_name: string | null
    version_description: string | null
    version_images: Json | null
    model_id: Int8 | null
    model_name: string | null
    model_description: string | null
    range_id: Int8 | null
    range_name: string | null
    range_description: string | null
    builder_id: Int8 | null
    builder_name: string | null
    builder_description: string | null
    subtype_id: Int8 | null
    type_id: Int8 | null
  }
  'mirror.subtypes': RecordColumns & {
    id: Int8
    name: string | null
    description: string | null
    type_id: Int8 | null
  }
  'mirror.types': RecordColumns & {
    id: Int8
    name: string | null
    description: string | null
  }
  'mirror.user_identities': RecordColumns & {
    user_id: Int8
    number: string | null
    type: string | null
  }
  'mirror.user_license_types': RecordColumns & {
    id: Int8
    key: string | null
    name: string | null
  }
  'mirror.user_licenses': RecordColumns & {
    user_id: Int8
    country_code: string | null
    number: string | null
    type_id: Int8 | null
    year: Int8 | null
  }
  'mirror.users': RecordColumns & {
    id: Int8
    creation_datetime: Timestamp | null
    last_modification_datetime: Timestamp | null
    deactivated: boolean | null
    civility: string | null
    first_name: string | null
    last_name: string | null
    birth_date: string | null
    email: string | null
    landline_phone: string | null
    mobile_phone: string | null
    address_street1: string | null
    address_street2: string | null
    address_postal_code: string | null
    address_city: string | null
    address_state: string | null
    address_country_code: string | null
    nationality_code: string | null
    language_code: string | null
    organization_type: string | null
    organization_name: string | null
    organization_vat_number: string | null
  }
}

/** Every table and view of the schemas live, mirror, mirror_views, outbox, report and sync. */
export type MirrorDatabase = Records & {
  'live.administrative_area_level1': View<'mirror.administrative_area_level1', '_deleted_at'>
  'live.administrative_area_level2': View<'mirror.administrative_area_level2', '_deleted_at'>
  'live.characteristics': View<'mirror.characteristics', '_deleted_at'>
  'live.cities': View<'mirror.cities', '_deleted_at'>
  'live.companies': View<'mirror.companies', '_deleted_at'>
  'live.company_legal_forms': View<'mirror.company_legal_forms', '_deleted_at'>
  'live.countries': View<'mirror.countries', '_deleted_at'>
  'live.equipments': View<'mirror.equipments', '_deleted_at'>
  'live.harbours': View<'mirror.harbours', '_deleted_at'>
  'live.navigation_areas': View<'mirror.navigation_areas', '_deleted_at'>
  'live.rental_crew_members': View<'mirror.rental_crew_members', '_deleted_at'>
  'live.rental_options': View<'mirror.rental_options', '_deleted_at'>
  'live.rental_payment_methods': View<'mirror.rental_payment_methods', '_deleted_at'>
  'live.rental_payments': {
    rental_id: Int8 | null
    id: Int8 | null
    currency: string | null
    method: Json | null
    method_id: Int8 | null
    price: Numeric | null
    reference: string | null
    _payload: Json | null
    _source: string | null
    _read_at: Timestamp | null
    _changed_at: Timestamp | null
  }
  'live.rental_resources': View<'mirror.rental_resources', '_deleted_at'>
  'live.rentals': {
    id: Int8 | null
    creation_datetime: Timestamp | null
    last_modification_datetime: Timestamp | null
    departure_datetime: Timestamp | null
    arrival_datetime: Timestamp | null
    departure_harbour_id: Int8 | null
    arrival_harbour_id: Int8 | null
    crew_adults: Int8 | null
    crew_children: Int8 | null
    message: string | null
    status: string | null
    deposit_status: string | null
    deposit_price: Numeric | null
    deposit_currency: string | null
    payment_progress: Numeric | null
    total_paid: Numeric | null
    total_to_pay: Numeric | null
    rental_price: Numeric | null
    discount_price: Numeric | null
    commission_price: Numeric | null
    contract_link: string | null
    order_link: string | null
    reference_id: string | null
    user_id: Int8 | null
    resource_id: string | null
    company_id: Int8 | null
    departure_local: Timestamp | null
    arrival_local: Timestamp | null
    _payload: Json | null
    _source: string | null
    _read_at: Timestamp | null
    _changed_at: Timestamp | null
  }
  'live.resource_availability': {
    resource_id: string | null
    date: string | null
    duration: string | null
    is_available: boolean | null
    price: Numeric | null
    currency: string | null
    rental_delay_min: string | null
    rental_delay_is_too_small: boolean | null
    rental_duration_min: string | null
    rental_duration_is_too_small: boolean | null
    _payload: Json | null
    _source: string | null
    _read_at: Timestamp | null
    _changed_at: Timestamp | null
  }
  'live.resource_availability_years': View<'mirror.resource_availability_years', '_deleted_at'>
  'live.resource_characteristics': View<'mirror.resource_characteristics', '_deleted_at'>
  'live.resource_durations': View<'mirror.resource_durations', '_deleted_at'>
  'live.resource_equipments': View<'mirror.resource_equipments', '_deleted_at'>
  'live.resource_options': View<'mirror.resource_options', '_deleted_at'>
  'live.resource_pricetable': {
    resource_id: string | null
    date: string | null
    duration: string | null
    base_price: Numeric | null
    currency: string | null
    _payload: Json | null
    _source: string | null
    _read_at: Timestamp | null
    _changed_at: Timestamp | null
  }
  'live.resource_pricings': View<'mirror.resource_pricings', '_deleted_at'>
  'live.resource_slot_options': View<'mirror.resource_slot_options', '_deleted_at'>
  'live.resource_slot_tides': View<'mirror.resource_slot_tides', '_deleted_at'>
  'live.resource_slots': {
    resource_id: string | null
    id: string | null
    date: string | null
    duration: string | null
    departure_datetime: Timestamp | null
    arrival_datetime: Timestamp | null
    price: Numeric | null
    currency: string | null
    nb_resources_available: Int8 | null
    _payload: Json | null
    _source: string | null
    _read_at: Timestamp | null
    _changed_at: Timestamp | null
  }
  'live.resource_unavailabilities': View<'mirror.resource_unavailabilities', '_deleted_at'>
  'live.resources': View<'mirror.resources', '_deleted_at'>
  'live.subtypes': View<'mirror.subtypes', '_deleted_at'>
  'live.types': View<'mirror.types', '_deleted_at'>
  'live.user_identities': View<'mirror.user_identities', '_deleted_at'>
  'live.user_license_types': View<'mirror.user_license_types', '_deleted_at'>
  'live.user_licenses': View<'mirror.user_licenses', '_deleted_at'>
  'live.users': View<'mirror.users', '_deleted_at'>
  'mirror.change_log': {
    seq: GeneratedAlways<string>
    epoch: Generated<Int8>
    xid: Generated<string>
    stream: string
    key: Json
    operation: 'insert' | 'update' | 'delete'
    changed_at: Generated<Timestamp>
    diff: Json
    whole: Generated<boolean>
  }
  'mirror.changes': {
    seq: Int8 | null
    stream: string | null
    key: Json | null
    operation: string | null
    changed_at: Timestamp | null
    diff: Json | null
  }
  'mirror.rentals_local': {
    id: Int8 | null
    creation_datetime: Timestamp | null
    last_modification_datetime: Timestamp | null
    departure_datetime: Timestamp | null
    arrival_datetime: Timestamp | null
    departure_harbour_id: Int8 | null
    arrival_harbour_id: Int8 | null
    crew_adults: Int8 | null
    crew_children: Int8 | null
    message: string | null
    status: string | null
    deposit_status: string | null
    deposit_price: Numeric | null
    deposit_currency: Json | null
    payment_progress: Numeric | null
    total_paid: Numeric | null
    total_to_pay: Numeric | null
    rental_price: Numeric | null
    discount_price: Numeric | null
    commission_price: Numeric | null
    contract_link: string | null
    order_link: string | null
    reference_id: string | null
    user_id: Int8 | null
    resource_id: string | null
    company_id: Int8 | null
    departure_local: Timestamp | null
    arrival_local: Timestamp | null
    _payload: Json | null
    _source: string | null
    _read_at: Timestamp | null
    _changed_at: Timestamp | null
    _deleted_at: Timestamp | null
    pending_fields: string[] | null
    pending_changes: string[] | null
    pending_delete: boolean | null
  }
  'mirror_views.administrative_area_level1': View<'mirror.administrative_area_level1', never>
  'mirror_views.administrative_area_level2': View<'mirror.administrative_area_level2', never>
  'mirror_views.characteristics': View<'mirror.characteristics', never>
  'mirror_views.cities': View<'mirror.cities', never>
  'mirror_views.companies': View<'mirror.companies', never>
  'mirror_views.company_legal_forms': View<'mirror.company_legal_forms', never>
  'mirror_views.countries': View<'mirror.countries', never>
  'mirror_views.equipments': View<'mirror.equipments', never>
  'mirror_views.harbours': View<'mirror.harbours', never>
  'mirror_views.navigation_areas': View<'mirror.navigation_areas', never>
  'mirror_views.rental_crew_members': View<'mirror.rental_crew_members', 'email' | 'first_name' | 'last_name' | '_payload'>
  'mirror_views.rental_options': View<'mirror.rental_options', never>
  'mirror_views.rental_payment_methods': View<'mirror.rental_payment_methods', never>
  'mirror_views.rental_payments': View<'mirror.rental_payments', never>
  'mirror_views.rental_resources': View<'mirror.rental_resources', never>
  'mirror_views.rentals': View<'mirror.rentals', 'message' | '_payload'>
  'mirror_views.resource_availability': View<'mirror.resource_availability', never>
  'mirror_views.resource_availability_years': View<'mirror.resource_availability_years', never>
  'mirror_views.resource_characteristics': View<'mirror.resource_characteristics', never>
  'mirror_views.resource_durations': View<'mirror.resource_durations', never>
  'mirror_views.resource_equipments': View<'mirror.resource_equipments', never>
  'mirror_views.resource_options': View<'mirror.resource_options', never>
  'mirror_views.resource_pricetable': View<'mirror.resource_pricetable', never>
  'mirror_views.resource_pricings': View<'mirror.resource_pricings', never>
  'mirror_views.resource_slot_options': View<'mirror.resource_slot_options', never>
  'mirror_views.resource_slot_tides': View<'mirror.resource_slot_tides', never>
  'mirror_views.resource_slots': View<'mirror.resource_slots', never>
  'mirror_views.resource_unavailabilities': View<'mirror.resource_unavailabilities', never>
  'mirror_views.resources': View<'mirror.resources', never>
  'mirror_views.subtypes': View<'mirror.subtypes', never>
  'mirror_views.types': View<'mirror.types', never>
  'mirror_views.user_license_types': View<'mirror.user_license_types', never>
  'mirror_views.users': View<'mirror.users', 'civility' | 'first_name' | 'last_name' | 'birth_date' | 'email' | 'landline_phone' | 'mobile_phone' | 'address_street1' | 'address_street2' | 'address_postal_code' | 'address_city' | 'address_state' | 'address_country_code' | 'nationality_code' | 'organization_name' | 'organization_vat_number' | '_payload'>
  'outbox.changes': {
    id: Int8 | null
    operation: string | null
    target: Json | null
    body: Json | null
    aggregate: string | null
    reference: string | null
    enqueued_by: string | null
    status: string | null
    attempts: number | null
    next_attempt_at: Timestamp | null
    result: Json | null
    request: Json | null
    response: Json | null
    conflict: Json | null
    error: string | null
    warning: string | null
    enqueued_at: Timestamp | null
    sent_at: Timestamp | null
    settled_at: Timestamp | null
    plan: string | null
  }
  'outbox.counted_roles': {
    name: string
    counted_by: string
  }
  'outbox.dependencies': {
    change_id: Int8
    depends_on: Int8
    implied_by: Int8 | null
  }
  'outbox.done_counts': {
    count: Int8
    proven_at: Timestamp | null
  }
  'outbox.installation': {
    only_one: Generated<boolean>
    id: Generated<string>
    number: Generated<Int8>
    epoch: Int8 | null
    cluster: string | null
    place: string | null
    since: Generated<Timestamp>
    undecided: Generated<boolean>
    former: Generated<Json>
  }
  'outbox.operations': {
    operation: string
    method: string
    path: string
    kind: string
    stream: string
    aggregate: string
    target: Json
    body: Json
    key: Json
    source: string
  }
  'outbox.queue': {
    id: Generated<Int8>
    operation: string
    target: Json
    body: Json | null
    options: Generated<Json>
    aggregate: string
    record_key: string | null
    reference: string | null
    enqueued_by: string
    status: Generated<'queued' | 'sending' | 'done' | 'failed' | 'conflict' | 'expired' | 'canceled' | 'unknown' | 'blocked'>
    attempts: Generated<number>
    looks: Generated<number>
    next_attempt_at: Generated<Timestamp>
    expires_at: Timestamp | null
    deadline: Timestamp | null
    on_conflict: Generated<'fail' | 'local_wins' | 'remote_wins'>
    base: Generated<Json>
    left_behind: Json | null
    kept_remote: Generated<string[]>
    left_out: Generated<string[]>
    proof: Json | null
    departed: Generated<boolean>
    owner: string | null
    fence: Generated<Int8>
    lease_until: Timestamp | null
    blocked_by: Int8 | null
    result: Json | null
    request: Json | null
    response: Json | null
    conflict: Json | null
    error: string | null
    warning: string | null
    enqueued_at: Generated<Timestamp>
    sent_at: Timestamp | null
    settled_at: Timestamp | null
    seen_at: Timestamp | null
    settled_xid: string | null
    seen_snapshot: string | null
    veiled: Generated<boolean>
    epoch: Generated<Int8>
  }
  'outbox.requests': {
    change_id: Int8
    token: string
    idempotency_key: string | null
    fingerprint: string
    place: Generated<number>
    received_at: Generated<Timestamp>
  }
  'report.balances': {
    rental_id: Int8 | null
    status: string | null
    reference_id: string | null
    departure_date: string | null
    departure_datetime: Timestamp | null
    resource_id: string | null
    resource_name: string | null
    company_id: Int8 | null
    company_name: string | null
    user_id: Int8 | null
    currency: string | null
    total_to_pay: Numeric | null
    total_paid: Numeric | null
    balance: Numeric | null
    days_to_departure: number | null
    currencies: string[] | null
  }
  'report.calendar': {
    date: string | null
    resource_id: string | null
    resource_name: string | null
    boat_id: Int8 | null
    company_id: Int8 | null
    company_name: string | null
    harbour_id: Int8 | null
    harbour_name: string | null
    is_rentable: boolean | null
    is_full: boolean | null
  }
  'report.cancellations': {
    company_id: Int8 | null
    company_name: string | null
    month: string | null
    status: string | null
    kind: string | null
    currency: string | null
    rentals: Int8 | null
    share: Numeric | null
    total_to_pay: Numeric | null
    total_paid: Numeric | null
    currencies: string[] | null
    paid_unknown: Int8 | null
  }
  'report.closes': {
    name: string | null
    company_id: Int8 | null
    closed_at: Timestamp | null
    rentals: Int8 | null
  }
  'report.departures': {
    departure_date: string | null
    departure_local: Timestamp | null
    departure_datetime: Timestamp | null
    rental_id: Int8 | null
    status: string | null
    reference_id: string | null
    resource_id: string | null
    resource_name: string | null
    boat_id: Int8 | null
    company_id: Int8 | null
    company_name: string | null
    departure_harbour_id: Int8 | null
    departure_harbour_name: string | null
    arrival_local: Timestamp | null
    arrival_harbour_name: string | null
    user_id: Int8 | null
    crew_adults: Int8 | null
    crew_children: Int8 | null
    crew_members: Int8 | null
    currency: string | null
    balance: Numeric | null
    deposit_status: string | null
    takes_place: boolean | null
    currencies: string[] | null
  }
  'report.fleet': {
    resource_id: string | null
    resource_name: string | null
    boat_id: Int8 | null
    company_id: Int8 | null
    company_name: string | null
    harbour_id: Int8 | null
    harbour_name: string | null
    city_name: string | null
    country_code: string | null
    type_name: string | null
    subtype_name: string | null
    builder_name: string | null
    model_name: string | null
    version_name: string | null
    is_rentable: boolean | null
    is_license_mandatory: boolean | null
    is_skipper_available: boolean | null
    is_skipper_mandatory: boolean | null
    min_price: Numeric | null
    currency: string | null
    is_full_today: boolean | null
  }
  'report.freshness': {
    stream: string | null
    state: string | null
    rows: Int8 | null
    as_of: Timestamp | null
    hot_as_of: Timestamp | null
    counts_as_of: Timestamp | null
    age_s: Numeric | null
    target_s: Numeric | null
    last_run_id: Int8 | null
    last_run_status: string | null
    last_error: string | null
    next_due_at: Timestamp | null
    quarantined: Int8 | null
  }
  'report.freshness_history': {
    day: string | null
    stream: string | null
    minutes: number | null
    minutes_within_target: number | null
    share: Numeric | null
    longest_gap: number | null
  }
  'report.occupancy': {
    resource_id: string | null
    resource_name: string | null
    boat_id: Int8 | null
    company_id: Int8 | null
    company_name: string | null
    harbour_id: Int8 | null
    harbour_name: string | null
    boat_resources: Int8 | null
    month: string | null
    days: number | null
    full_days: number | null
    free_days: number | null
    occupancy: Numeric | null
  }
  'report.overlaps': {
    boat_id: Int8 | null
    resource_id: string | null
    resource_name: string | null
    company_id: Int8 | null
    company_name: string | null
    rental_id: Int8 | null
    departure_datetime: Timestamp | null
    arrival_datetime: Timestamp | null
    other_kind: string | null
    other_rental_id: Int8 | null
    other_resource_id: string | null
    other_from: Timestamp | null
    other_to: Timestamp | null
    overlap_from: Timestamp | null
    overlap_to: Timestamp | null
    other_key: string | null
    other_company_id: Int8 | null
  }
  'report.pace': {
    departure_month: string | null
    as_of: string | null
    company_id: Int8 | null
    currency: string | null
    rentals: Int8 | null
    days: Int8 | null
    amount: Numeric | null
    canceled: Int8 | null
    lead_days: Numeric | null
    rentals_last_year: Int8 | null
    days_last_year: Int8 | null
    amount_last_year: Numeric | null
    canceled_last_year: Int8 | null
    lead_days_last_year: Numeric | null
    company_name: string | null
    currencies: string[] | null
    estimated: boolean | null
    estimated_last_year: boolean | null
  }
  'report.rentals': {
    rental_id: Int8 | null
    status: string | null
    reference_id: string | null
    creation_datetime: Timestamp | null
    departure_datetime: Timestamp | null
    departure_date: string | null
    departure_local: Timestamp | null
    arrival_datetime: Timestamp | null
    arrival_date: string | null
    arrival_local: Timestamp | null
    resource_id: string | null
    resource_name: string | null
    boat_id: Int8 | null
    company_id: Int8 | null
    company_name: string | null
    departure_harbour_id: Int8 | null
    departure_harbour_name: string | null
    arrival_harbour_id: Int8 | null
    arrival_harbour_name: string | null
    user_id: Int8 | null
    crew_adults: Int8 | null
    crew_children: Int8 | null
    currency: string | null
    rental_price: Numeric | null
    discount_price: Numeric | null
    commission_price: Numeric | null
    total_to_pay: Numeric | null
    total_paid: Numeric | null
    balance: Numeric | null
    deposit_status: string | null
    deposit_price: Numeric | null
    deposit_currency: string | null
    takes_place: boolean | null
    creation_date: string | null
    currencies: string[] | null
    status_known: boolean | null
  }
  'report.revenue': {
    company_id: Int8 | null
    company_name: string | null
    month: string | null
    currency: string | null
    rentals: Int8 | null
    total_to_pay: Numeric | null
    total_paid: Numeric | null
    balance: Numeric | null
    rental_price: Numeric | null
    discount_price: Numeric | null
    commission_price: Numeric | null
    currencies: string[] | null
    paid_unknown: Int8 | null
  }
  'sync.access_tokens': {
    id: GeneratedAlways<string>
    name: string
    hash: Buffer
    role: string
    companies: string[] | null
    personal: boolean
    write: boolean
    created_at: Generated<Timestamp>
    expires_at: Timestamp | null
    revoked_at: Timestamp | null
  }
  'sync.alerts': {
    kind: string
    about: string
    since: Timestamp
    told: Generated<boolean>
    gone_since: Timestamp | null
  }
  'sync.calendar_keys': {
    resource_id: string | null
    hash: Buffer
    created_at: Generated<Timestamp>
    id: GeneratedAlways<string>
    report: string | null
    company_id: Int8 | null
  }
  'sync.closed_rentals': {
    close_id: Int8
    rental_id: Int8
    reference_id: string | null
    status: string | null
    takes_place: boolean
    company_id: Int8 | null
    resource_id: string | null
    boat_id: Int8 | null
    departure_day: string | null
    arrival_day: string | null
    rental_price: Numeric | null
    discount_price: Numeric | null
    commission_price: Numeric | null
    total_to_pay: Numeric | null
    total_paid: Numeric | null
    currencies: string[]
    payments: Json
  }
  'sync.closes': {
    id: GeneratedAlways<string>
    name: string
    company_id: Int8 | null
    closed_at: Generated<Timestamp>
  }
  'sync.consumer_positions': {
    name: string
    role: string
    epoch: Int8 | null
    xid: string | null
    seq: Int8 | null
    registered_at: Generated<Timestamp>
    acked_at: Timestamp | null
    lost: Generated<boolean>
  }
  'sync.consumers': {
    name: string | null
    cursor: string | null
    registered_at: Timestamp | null
    acked_at: Timestamp | null
    behind: Interval | null
    lost: boolean | null
  }
  'sync.decisions': {
    id: GeneratedAlways<string>
    at: Generated<Timestamp>
    who: string
    via: 'sql' | 'command' | 'library' | 'page'
    what: 'retry' | 'cancel' | 'local' | 'remote' | 'took_effect' | 'did_not' | 'release' | 'pause' | 'resume' | 'former_gone' | 'former_lives' | 'hand_over' | 'acknowledge'
    target: string
    plan: string
    result_id: Int8 | null
    done_at: Timestamp | null
    error: string | null
  }
  'sync.detail_tags': {
    stream: string
    key: string
    detail_hash: string
    answers: Json
    read_at: Generated<Timestamp>
  }
  'sync.endpoints': {
    endpoint: string
    calls: Generated<Int8>
    failures: Generated<Int8>
    last_status: number | null
    last_called_at: Timestamp | null
    last_error: string | null
    last_status_since: Timestamp | null
  }
  'sync.erased': {
    stream: string
    key: string
    erased_at: Generated<Timestamp>
  }
  'sync.fleets': {
    resource_id: string
    seen_at: Generated<Timestamp>
  }
  'sync.freshness_days': {
    stream: string
    day: string
    looked_at: Timestamp
    counted: Generated<number>
    counts_from: Timestamp | null
    met: Generated<number>
    missed_from: Timestamp | null
    longest_gap: Generated<number>
  }
  'sync.gate': {
    id: string
    state: Json
    updated_at: Generated<Timestamp>
  }
  'sync.held': {
    run_id: Int8
    key: string
    released_at: Timestamp | null
  }
  'sync.held_plans': {
    run_id: Int8 | null
    stream: string | null
    held: number | null
    started_at: Timestamp | null
    found: Json | null
    plan: string | null
  }
  'sync.list_pages': {
    stream: string
    name: string
    tag: string
    keys: string[]
    hash: string
    next: string
    read_at: Generated<Timestamp>
  }
  'sync.log_identity': {
    only_row: Generated<boolean>
    number: Int8
    folder: string | null
  }
  'sync.migrations': {
    name: string
    timestamp: string
  }
  'sync.pace_days': {
    id: GeneratedAlways<string>
    as_of: string
    departure_month: string
    company_id: Int8 | null
    currencies: string[]
    rentals: Int8
    days: Int8
    amount: Numeric
    canceled: Int8
    lead_days: Int8
    with_lead: Int8
  }
  'sync.partners': {
    partner: string
    name: string
    role: number | null
    cluster: string | null
    gone_at: Timestamp | null
  }
  'sync.pinned': {
    key: string
    value: Json
    probed_at: Generated<Timestamp>
    contradicted_at: Timestamp | null
    contradiction: string | null
  }
  'sync.privacy': {
    only_row: Generated<boolean>
    mode: Generated<'keep' | 'hash' | 'drop'>
    columns: Generated<Json>
    key_fingerprint: string | null
    generation: Generated<Int8>
    set_at: Timestamp | null
    applying: Json | null
  }
  'sync.quarantine': {
    id: GeneratedAlways<string>
    stream: string
    key: string
    endpoint: string
    payload: Json
    reason: string
    first_seen_at: Generated<Timestamp>
    last_seen_at: Generated<Timestamp>
    times: Generated<Int8>
    request: Generated<Json>
  }
  'sync.reads': {
    endpoint: string
    same_as: string
    state: Generated<'redundant' | 'needed'>
    compared: Generated<Int8>
    differed: Generated<Int8>
    skipped: Generated<Int8>
    since: Generated<Timestamp>
    sampled_at: Timestamp | null
  }
  'sync.reasons': {
    number: Int8 | null
    reason: string | null
    meaning: string | null
  }
  'sync.records': {
    stream: string
    key: string
    list_hash: string | null
    detail_hash: string | null
    detail_read_at: Timestamp | null
    projection: Generated<number>
    changed_at: Generated<Timestamp>
    listed_at: Timestamp | null
    partly: boolean | null
  }
  'sync.refreshes': {
    id: Int8 | null
    stream: string | null
    key: string | null
    role: string | null
    requested_at: Timestamp | null
    finished_at: Timestamp | null
    state: string | null
    error: string | null
    run_id: Int8 | null
  }
  'sync.repeatable': {
    only_row: Generated<boolean>
    version: string
    applied_at: Generated<Timestamp>
  }
  'sync.request_counts': {
    minute: Timestamp
    total: Int8
  }
  'sync.request_streams': {
    request_id: Int8
    stream: string
    run_id: Int8 | null
  }
  'sync.requests': {
    id: GeneratedAlways<string>
    trigger: string
    full_read: Generated<boolean>
    requested_at: Generated<Timestamp>
    finished_at: Timestamp | null
    hot: Generated<boolean>
    stream: string | null
    record_key: string | null
    role: string | null
    error: string | null
  }
  'sync.row_changes': {
    id: GeneratedAlways<string>
    stream: string
    difference: Int8
  }
  'sync.runs': {
    id: GeneratedAlways<string>
    stream: string
    trigger: string
    status: Generated<'running' | 'done' | 'partial' | 'held' | 'failed'>
    started_at: Generated<Timestamp>
    finished_at: Timestamp | null
    pages: Generated<Int8>
    requests: Generated<Int8>
    retries: Generated<Int8>
    read: Generated<Int8>
    inserted: Generated<Int8>
    updated: Generated<Int8>
    unchanged: Generated<Int8>
    deleted: Generated<Int8>
    quarantined: Generated<Int8>
    held: Generated<Int8>
    bytes: Generated<Int8>
    error: string | null
    full_read: Generated<boolean>
    phase: Generated<'sweep' | 'details' | 'finished'>
    swept_at: Timestamp | null
    total: Int8 | null
    plan: Json | null
    warnings: Generated<Json>
    hot: Generated<boolean>
    unexpected: Generated<Int8>
    record_key: string | null
  }
  'sync.senders': {
    name: 'webhook' | 'alert' | 'log'
    owner: string | null
    lease_until: Timestamp | null
    fence: Generated<Int8>
    address: string | null
    attempts: Generated<number>
    failing_since: Timestamp | null
    next_attempt_at: Timestamp | null
    last_error: string | null
    delivered: Generated<Int8>
    delivered_at: Timestamp | null
  }
  'sync.servers': {
    id: string
    host: string
    pid: number
    version: string
    address: string
    started_at: Generated<Timestamp>
    seen_at: Generated<Timestamp>
    requests: Int8
    recent_requests: Int8
    recent_refused: Int8
    recent_failed: Int8
    recent_mean_ms: number | null
    recent_slowest_ms: number | null
    recent_oldest_s: number | null
  }
  'sync.settings': {
    only_row: Generated<boolean>
    time_zone: Generated<string>
    outbox_limit: number | null
    api: string | null
    not_taking_place: Generated<string[]>
    pace_from: string | null
    pace_until: string | null
  }
  'sync.stream_plans': {
    stream: string | null
    paused_since: Timestamp | null
    paused_by: string | null
    plan: string | null
  }
  'sync.streams': {
    stream: string
    as_of: Timestamp | null
    rows: Generated<Int8>
    last_run_id: Int8 | null
    next_due_at: Timestamp | null
    interval_s: Numeric | null
    target_s: Numeric | null
    hot_as_of: Timestamp | null
    hot_next_due_at: Timestamp | null
    hot_interval_s: Numeric | null
    rows_proven_at: Timestamp | null
    max_age_s: Numeric | null
    soon_max_age_s: Numeric | null
    paused_by: Int8 | null
  }
  'sync.sweep_pages': {
    run_id: Int8
    pass: number
    page: number
    keys: string[]
  }
  'sync.sweep_parts': {
    run_id: Int8
    range: number
    pass: number
    page: number
    keys: string[]
  }
  'sync.sweep_ranges': {
    run_id: Int8
    range: number
    begins: string | null
    missing: Generated<string[]>
  }
  'sync.tasks': {
    id: GeneratedAlways<string>
    run_id: Int8
    stream: string
    kind: string
    payload: Generated<Json>
    status: Generated<'waiting' | 'running' | 'done' | 'failed'>
    priority: Generated<number>
    owner: string | null
    fence: Generated<Int8>
    lease_until: Timestamp | null
    checkpoint: Json | null
    checkpoint_at: Timestamp | null
    attempts: Generated<number>
    not_before: Generated<Timestamp>
    woken_at: Timestamp | null
    error: string | null
    created_at: Generated<Timestamp>
    finished_at: Timestamp | null
    reason: number | null
  }
  'sync.traffic': {
    minute: Timestamp
    endpoint: string
    calls: Generated<Int8>
    failures: Generated<Int8>
    throttled: Generated<Int8>
    total_ms: Generated<number>
    slowest_ms: Generated<number>
  }
  'sync.unknown_fields': {
    stream: string
    path: string
    first_seen_at: Generated<Timestamp>
    last_seen_at: Generated<Timestamp>
    times: Generated<Int8>
    sample: Json | null
  }
  'sync.webhook_batch': {
    id: string
    only_one: Generated<boolean>
    after_cursor: string | null
    end_cursor: string
    changes: number
    body: string
    made_at: Generated<Timestamp>
  }
  'sync.webhook_deliveries': {
    id: GeneratedAlways<string>
    sent_at: Generated<Timestamp>
    message_id: string
    changes: number
    status: number | null
    duration_ms: number
    error: string | null
    after_cursor: string | null
  }
  'sync.workers': {
    id: string
    host: string
    pid: number
    version: string
    started_at: Generated<Timestamp>
    seen_at: Generated<Timestamp>
    doing: string | null
  }
}
