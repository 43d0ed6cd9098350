-- Schema mirror: one table for each record type of the API, with typed columns and the whole record as payload. The source
-- decides what exists, so nothing here refuses a record: no foreign keys, no check, no unique constraint beyond the key, ids as
-- bigint or text, money as numeric, enumerations as text.
--
-- What a list has by itself has an index of what is gone: lists count what went lately before they let more go. What hangs
-- below a record goes with it.

create schema if not exists mirror;

-- Schemas of views, which are repeatable steps.
create schema if not exists mirror_views;
create schema if not exists live;
create schema if not exists report;


-- Reference data: hardly ever changes.

create table mirror.countries (
  code text not null, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (code)
);
create index countries_gone on mirror.countries (_deleted_at) where _deleted_at is not null;

create table mirror.administrative_area_level1 (
  id bigint not null, name text, country_code text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index administrative_area_level1_country_code on mirror.administrative_area_level1 (country_code);
create index administrative_area_level1_gone on mirror.administrative_area_level1 (_deleted_at) where _deleted_at is not null;

create table mirror.administrative_area_level2 (
  id bigint not null, name text, administrative_area_level1_id bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index administrative_area_level2_administrative_area_level1_id on mirror.administrative_area_level2 (administrative_area_level1_id);
create index administrative_area_level2_gone on mirror.administrative_area_level2 (_deleted_at) where _deleted_at is not null;

create table mirror.navigation_areas (
  id bigint not null, name text, country_code text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index navigation_areas_country_code on mirror.navigation_areas (country_code);
create index navigation_areas_gone on mirror.navigation_areas (_deleted_at) where _deleted_at is not null;

create table mirror.cities (
  id bigint not null, name text, latitude numeric, longitude numeric, postal_code text, navigation_area_id bigint,
  administrative_area_level2_id bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index cities_navigation_area_id on mirror.cities (navigation_area_id);
create index cities_administrative_area_level2_id on mirror.cities (administrative_area_level2_id);
create index cities_gone on mirror.cities (_deleted_at) where _deleted_at is not null;

create table mirror.harbours (
  id bigint not null, name text, latitude numeric, longitude numeric, city_id bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index harbours_city_id on mirror.harbours (city_id);
create index harbours_gone on mirror.harbours (_deleted_at) where _deleted_at is not null;

create table mirror.characteristics (
  id bigint not null, key text, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index characteristics_gone on mirror.characteristics (_deleted_at) where _deleted_at is not null;

create table mirror.equipments (
  id bigint not null, key text, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index equipments_gone on mirror.equipments (_deleted_at) where _deleted_at is not null;

create table mirror.company_legal_forms (
  id bigint not null, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index company_legal_forms_gone on mirror.company_legal_forms (_deleted_at) where _deleted_at is not null;

create table mirror.rental_payment_methods (
  id bigint not null, key text, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index rental_payment_methods_gone on mirror.rental_payment_methods (_deleted_at) where _deleted_at is not null;

create table mirror.types (
  id bigint not null, name text, description text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index types_gone on mirror.types (_deleted_at) where _deleted_at is not null;

create table mirror.subtypes (
  id bigint not null, name text, description text, type_id bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index subtypes_type_id on mirror.subtypes (type_id);
create index subtypes_gone on mirror.subtypes (_deleted_at) where _deleted_at is not null;

create table mirror.user_license_types (
  id bigint not null, key text, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
);
create index user_license_types_gone on mirror.user_license_types (_deleted_at) where _deleted_at is not null;

-- Records and their details. What is rewritten often leaves room on its pages for it, and is vacuumed early.

create table mirror.companies (
  id bigint not null, address_city_id bigint, address_postal_code text, address_street1 text, address_street2 text,
  company_brand_name text, company_contact_email text, company_contact_phone jsonb, company_legal_form_id bigint,
  company_legal_reason text, company_logo text, company_siret_number text, company_vat_number text,
  company_website_url text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index companies_address_city_id on mirror.companies (address_city_id);
create index companies_company_legal_form_id on mirror.companies (company_legal_form_id);
create index companies_gone on mirror.companies (_deleted_at) where _deleted_at is not null;

create table mirror.resources (
  id text not null, boat_id bigint, name text, description text, creation_datetime timestamptz,
  last_modification_datetime timestamptz, min_price numeric, is_license_mandatory boolean, is_rentable boolean,
  is_skipper_available boolean, is_skipper_mandatory boolean, company_id bigint, harbour_id bigint, images jsonb,
  version_id bigint, version_name text, version_description text, version_images jsonb, model_id bigint,
  model_name text, model_description text, range_id bigint, range_name text, range_description text,
  builder_id bigint, builder_name text, builder_description text, subtype_id bigint, type_id bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index resources_company_id on mirror.resources (company_id);
create index resources_harbour_id on mirror.resources (harbour_id);
create index resources_subtype_id on mirror.resources (subtype_id);
create index resources_type_id on mirror.resources (type_id);
create index resources_gone on mirror.resources (_deleted_at) where _deleted_at is not null;
create index resources_stubs on mirror.resources (_read_at) where _deleted_at is null and position('#' in _source) > 0;

create table mirror.resource_characteristics (
  resource_id text not null, id bigint not null, key text, name text, family_name text, comment text, unit text,
  value text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.resource_equipments (
  resource_id text not null, id bigint not null, key text, name text, family_name text, comment text, unit text,
  value text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.resource_durations (
  resource_id text not null, type text not null, value text not null, position bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, type, value)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.resource_options (
  resource_id text not null, id bigint not null, name text, description text, is_mandatory boolean, type jsonb,
  subtype jsonb, prices jsonb,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.resource_pricetable (
  resource_id text not null, date date not null, duration text not null, base_price numeric, currency jsonb,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, date, duration)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index resource_pricetable_date on mirror.resource_pricetable (date);

create table mirror.resource_pricings (
  resource_id text not null, key text not null, id text, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, key)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.resource_slot_tides (
  resource_id text not null, slot_id text not null, key text not null, id text, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, slot_id, key)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.users (
  id bigint not null, creation_datetime timestamptz, last_modification_datetime timestamptz, deactivated boolean,
  civility text, first_name text, last_name text, birth_date date, email text, landline_phone text,
  mobile_phone text, address_street1 text, address_street2 text, address_postal_code text, address_city text,
  address_state text, address_country_code text, nationality_code text, language_code text, organization_type text,
  organization_name text, organization_vat_number text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index users_address_country_code on mirror.users (address_country_code);
create index users_nationality_code on mirror.users (nationality_code);
create index users_gone on mirror.users (_deleted_at) where _deleted_at is not null;
create index users_stubs on mirror.users (_read_at) where _deleted_at is null and position('#' in _source) > 0;

create table mirror.user_identities (
  user_id bigint not null, number text, type text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (user_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.user_licenses (
  user_id bigint not null, country_code text, number text, type_id bigint, year bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (user_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index user_licenses_country_code on mirror.user_licenses (country_code);
create index user_licenses_type_id on mirror.user_licenses (type_id);

create table mirror.rentals (
  id bigint not null, creation_datetime timestamptz, last_modification_datetime timestamptz,
  departure_datetime timestamptz, arrival_datetime timestamptz, departure_harbour_id bigint,
  arrival_harbour_id bigint, crew_adults bigint, crew_children bigint, message text, status text,
  deposit_status text, deposit_price numeric, deposit_currency jsonb, payment_progress numeric, total_paid numeric,
  total_to_pay numeric, rental_price numeric, discount_price numeric, commission_price numeric, contract_link text,
  order_link text, reference_id text, user_id bigint, resource_id text, company_id bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  departure_local timestamp, arrival_local timestamp,
  primary key (id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index rentals_departure_harbour_id on mirror.rentals (departure_harbour_id);
create index rentals_arrival_harbour_id on mirror.rentals (arrival_harbour_id);
create index rentals_user_id on mirror.rentals (user_id);
create index rentals_resource_id on mirror.rentals (resource_id);
create index rentals_company_id on mirror.rentals (company_id);
create index rentals_gone on mirror.rentals (_deleted_at) where _deleted_at is not null;
create index rentals_departure on mirror.rentals (departure_datetime) where _deleted_at is null;
-- Rentals that are just back are read more often.
create index rentals_arrival on mirror.rentals (arrival_datetime) where _deleted_at is null;
-- The newest of a list are compared with the newest that are known.
create index rentals_created on mirror.rentals (creation_datetime) where _deleted_at is null;
-- Rentals make the calendars of their boats due.
create index rentals_changed on mirror.rentals (_changed_at);
create index rentals_stubs on mirror.rentals (_read_at) where _deleted_at is null and position('#' in _source) > 0;

create table mirror.rental_resources (
  rental_id bigint not null, id bigint, price numeric, fees numeric, vat_rate numeric, down_payment_price numeric,
  down_payment_rate numeric, resource_id text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (rental_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index rental_resources_resource_id on mirror.rental_resources (resource_id);

create table mirror.rental_options (
  rental_id bigint not null, id bigint not null, option_id bigint, price numeric, quantity bigint, fees numeric,
  vat_rate numeric, down_payment_rate numeric,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (rental_id, id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index rental_options_option_id on mirror.rental_options (option_id);

create table mirror.rental_payments (
  rental_id bigint not null, id bigint not null, currency jsonb, method jsonb, method_id bigint, price numeric,
  reference text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (rental_id, id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create index rental_payments_method_id on mirror.rental_payments (method_id);

create table mirror.rental_crew_members (
  rental_id bigint not null, id bigint not null, email text, first_name text, last_name text, type text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (rental_id, id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

-- What every booking changes: calendars, availability, slots.

create table mirror.resource_availability_years (
  resource_id text not null, year bigint not null, days text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, year)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.resource_unavailabilities (
  resource_id text not null, key text not null, id text, name text,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  start_datetime timestamptz, end_datetime timestamptz,
  primary key (resource_id, key)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

create table mirror.resource_availability (
  resource_id text not null, date date not null, duration text not null, is_available boolean, price numeric,
  currency jsonb, rental_delay_min text, rental_delay_is_too_small boolean, rental_duration_min text,
  rental_duration_is_too_small boolean,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, date, duration)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index resource_availability_date on mirror.resource_availability (date);

create table mirror.resource_slots (
  resource_id text not null, id text not null, date date, duration text, departure_datetime timestamptz,
  arrival_datetime timestamptz, price numeric, currency jsonb, nb_resources_available bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index resource_slots_date on mirror.resource_slots (date);
-- What others hang below: a change makes it due.
create index resource_slots_changed on mirror.resource_slots (_changed_at);

create table mirror.resource_slot_options (
  resource_id text not null, slot_id text not null, id bigint not null, option_id bigint, is_included boolean,
  is_stock_limited boolean, price numeric, quantity_min bigint, quantity_max bigint,
  _payload jsonb not null, _source text not null, _read_at timestamptz not null,
  _changed_at timestamptz not null default clock_timestamp(), _deleted_at timestamptz,
  primary key (resource_id, slot_id, id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index resource_slot_options_option_id on mirror.resource_slot_options (option_id);
