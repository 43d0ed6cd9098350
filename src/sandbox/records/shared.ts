// The structures that several records share (docs/sources.md, 2.1) and the reference records (docs/sources.md, 4.5).

import { embedded, formatted, integer, list, number, record, text } from './schema.ts'

export const Country = record('Country', 'A country', {
  code: text('Country code, two letters'),
  name: text('Country name'),
})

export const AdministrativeAreaLevel1 = record('AdministrativeAreaLevel1', 'A region', {
  id: integer('Area ID'),
  name: text('Area name'),
  country: embedded(Country, 'Country of the area'),
})

export const AdministrativeAreaLevel2 = record('AdministrativeAreaLevel2', 'A department or province', {
  id: integer('Area ID'),
  name: text('Area name'),
  administrativeAreaLevel1: embedded(AdministrativeAreaLevel1, 'Area of level 1 around it'),
})

export const NavigationArea = record('NavigationArea', 'Waters that boats sail in', {
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

const ImageSize = record('ImageSize', 'One size of a picture', {
  height: integer('Height, pixels'),
  uri: formatted('uri', 'Address of the picture'),
  width: integer('Width, pixels'),
})

const ImageVariants = record('ImageVariants', 'A picture in four sizes', {
  large: embedded(ImageSize, 'Large'),
  medium: embedded(ImageSize, 'Medium'),
  original: embedded(ImageSize, 'As uploaded'),
  small: embedded(ImageSize, 'Small'),
})

export const Images = record('Images', 'Pictures of a boat', {
  cover: embedded(ImageVariants, 'Cover picture'),
  others: list(ImageVariants, 'Additional pictures'),
})

const entryFields = {
  id: integer('Element ID'),
  key: text('Unique code identifying the entry'),
  name: text('Name'),
  familyName: text('Family or group name'),
  comment: text('Additional comment'),
  unit: text('QUANTITY, METRE, HORSEPOWER, LITRE, WEIGHT, SPEED'),
  value: text('Value'),
}

export const CharacteristicEntry = record('CharacteristicEntry', 'A characteristic of a boat', entryFields)
export const EquipmentEntry = record('EquipmentEntry', 'A piece of equipment of a boat', entryFields)

export const Duration = record('Duration', 'A length a boat may be rented for', {
  type: text('MINUTES, PERIODS, DAYS, WEEKS'),
  value: text('A period name such as MORNING, AFTERNOON, EVENING, or a number'),
})

const { id, key, name, familyName, unit } = entryFields
/** Its shape is not documented: what an entry of a resource says of its kind. */
export const Characteristic = record('Characteristic', 'A kind of characteristic', { id, key, name, familyName, unit })
/** Its shape is not documented: as characteristics. */
export const Equipment = record('Equipment', 'A kind of equipment', { id, key, name, familyName, unit })

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

export const ResourceType = record('Type', 'A type of boat', {
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
