// Company, Resource, its pricing record and what hangs below a resource (docs/sources.md, 2.2, 2.3, 2.4,
// resources/resource-option).

import { City, CompanyLegalForm, Harbour, kindFields, Subtype } from './references.ts'
import { embedded, flag, formatted, integer, list, number, opaque, record, text } from './schema.ts'

export const Company = record('Company', 'A rental company', {
  id: integer('Company ID'),
  addressCity: embedded(City, 'City'),
  addressPostalCode: text('Postal code'),
  addressStreet1: text('Address street 1'),
  addressStreet2: text('Address street 2'),
  companyBrandName: text('Brand name'),
  companyContactEmail: formatted('email', 'Contact email'),
  companyContactPhone: opaque('Contact phone, contents not shown'),
  companyLegalForm: embedded(CompanyLegalForm, 'Company type'),
  companyLegalReason: text('Legal reason'),
  companyLogo: text('Logo file path'),
  companySiretNumber: text('Company registration number'),
  companyVatNumber: text('VAT identification number'),
  companyWebsiteUrl: formatted('uri', 'Website URL'),
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

const Images = record('Images', 'Pictures of a boat', {
  cover: embedded(ImageVariants, 'Cover picture'),
  others: list(ImageVariants, 'Additional pictures'),
})

const entryFields = { ...kindFields, comment: text('Additional comment'), value: text('Value') }
const CharacteristicEntry = record('CharacteristicEntry', 'A characteristic of a boat', entryFields)
const EquipmentEntry = record('EquipmentEntry', 'A piece of equipment of a boat', entryFields)

export const Duration = record('Duration', 'A length a boat may be rented for', {
  type: text('MINUTES, PERIODS, DAYS, WEEKS'),
  value: text('A period name such as MORNING, AFTERNOON, EVENING, or a number'),
})

const named = (what: string) => ({
  id: integer(`${what} ID`),
  name: text(`${what} name`),
  description: text(`${what} description`),
})

const Builder = record('Builder', 'A boat builder', named('Builder'))
const Range = record('Range', 'A range of models', {
  ...named('Range'),
  builder: embedded(Builder, 'Builder'),
})
const Model = record('Model', 'A boat model', { ...named('Model'), range: embedded(Range, 'Range') })

const Version = record('Version', 'A version of a boat model', {
  ...named('Version'),
  images: embedded(Images, 'Album with cover and additional photos'),
  model: embedded(Model, 'Model'),
  subtype: embedded(Subtype, 'Subtype'),
})

export const Resource = record('Resource', 'A boat in a harbour that can be rented', {
  id: text('Resource ID'),
  boatId: integer('Boat ID; deprecated in favor of the full resource ID'),
  name: text('Boat name'),
  description: text('Product description'),
  creationDatetime: formatted('date-time', 'Creation date-time'),
  lastModificationDatetime: formatted('date-time', 'Last update date-time'),
  minPrice: number('Minimum rental price; the price varies with the rental duration'),
  isLicenseMandatory: flag('True if a boat license is mandatory'),
  isRentable: flag('True if the resource is available for rental'),
  isSkipperAvailable: flag('True if a skipper is available'),
  isSkipperMandatory: flag('True if a skipper is mandatory'),
  characteristics: list(CharacteristicEntry, 'Characteristic entries'),
  equipments: list(EquipmentEntry, 'Equipment entries'),
  durations: list(Duration, 'Duration entries available for renting'),
  company: embedded(Company, 'Company'),
  harbour: embedded(Harbour, 'Harbour'),
  images: embedded(Images, 'Images'),
  version: embedded(Version, 'Boat version'),
})

export const RentalResource = record('RentalResource', 'Resource pricing record, as booked', {
  id: integer('Element ID'),
  price: number('Resource price'),
  fees: number('Full client fees price'),
  vatRate: integer('VAT rate applied'),
  downPaymentPrice: integer('Resource down payment'),
  downPaymentRate: integer('Minimum accepted down payment percent'),
  resource: embedded(Resource, 'Resource'),
})

const Classification = record('OptionClassification', 'Classification of an option', {
  id: integer('ID'),
  key: text('Code'),
  value: text('Text'),
})

const OptionPrice = record('OptionPrice', 'Price of an option in a period', {
  start_date: formatted('date', 'First day of the period'),
  end_date: formatted('date', 'Last day of the period'),
  price: number('Price in the period'),
  unit: text('PURCHASE, HOUR, DAY, WEEK'),
  currency: opaque('Currency'),
  slot_option_id: integer('Slot option the price belongs to'),
})

export const ResourceOption = record('ResourceOption', 'An option of a resource', {
  id: integer('Option ID'),
  name: text('Name'),
  description: text('Description'),
  isMandatory: flag('True if every rental must have it'),
  type: embedded(Classification, 'Type'),
  subtype: embedded(Classification, 'Subtype'),
  prices: list(OptionPrice, 'Price periods'),
})

/** Its shape is not documented: made up. */
export const ResourcePricing = record('ResourcePricing', 'Price of a season and a duration', {
  id: integer('Pricing ID'),
  name: text('Season name'),
  startDate: formatted('date', 'First day of the season'),
  endDate: formatted('date', 'Last day of the season'),
  duration: text('Duration, TYPE,VALUE'),
  price: number('Price'),
  currency: text('Currency'),
})
