// All record types by name, and their fields, as read from the sources of docs/sources.md.

import type { TObject } from 'typebox'
import { Availability, AvailabilityYear, Pricetable, Slot, SlotOption, Tide, Unavailability } from './availability.ts'
import { Rental, RentalCrewMember, RentalOption, RentalPayment } from './rentals.ts'
import { Company, RentalResource, Resource, ResourceOption, ResourcePricing } from './resources.ts'
import {
  AdministrativeAreaLevel1,
  AdministrativeAreaLevel2,
  Characteristic,
  CharacteristicEntry,
  City,
  CompanyLegalForm,
  Country,
  Duration,
  Equipment,
  EquipmentEntry,
  Harbour,
  NavigationArea,
  RentalPaymentMethod,
  ResourceType,
  Subtype,
  UserLicenseType,
} from './shared.ts'
import { User, UserIdentity, UserLicense } from './users.ts'

/** Every record type that an operation returns, plus the two entry types embedded in a resource. */
export const recordSchemas = {
  AdministrativeAreaLevel1,
  AdministrativeAreaLevel2,
  Availability,
  AvailabilityBitstring: AvailabilityYear,
  Characteristic,
  CharacteristicEntry,
  City,
  Company,
  CompanyLegalForm,
  Country,
  Duration,
  Equipment,
  EquipmentEntry,
  Harbour,
  NavigationArea,
  Pricetable,
  Rental,
  RentalCrewMember,
  RentalOption,
  RentalPayment,
  RentalPaymentMethod,
  RentalResource,
  Resource,
  ResourceOption,
  ResourcePricing,
  Slot,
  SlotOption,
  Subtype,
  Tide,
  Type: ResourceType,
  Unavailability,
  User,
  UserIdentity,
  UserLicense,
  UserLicenseType,
} satisfies Record<string, TObject>

export type RecordName = keyof typeof recordSchemas

/** The field names of every record type, in the order of docs/sources.md. */
export const recordFields: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(recordSchemas).map(([name, schema]) => [name, Object.keys(schema.properties)]),
)
