// Resources (rentable boats) and their parts: equipment, options, durations, prices (docs/sources.md, 2.3, 4.3).

import {
  bigint,
  boolean,
  currency,
  date,
  fromRequest,
  json,
  keyedByContent,
  numeric,
  reference,
  text,
  timestamp,
} from './columns.ts'
import type { Column, StreamDef } from './types.ts'

/** `resource_id`, first key column of everything below a resource. */
export const resourceId = fromRequest('resource_id', 'text', 'Resource: resources.id.')

/** What every stream below a resource has in common. */
export const belowResource = {
  parent: 'resources',
  parentParams: ['resourceId'],
  parentKey: ['resource_id'],
  switches: ['test'],
} as const

export const resources: StreamDef = {
  name: 'resources',
  comment:
    'Resources: a boat in a harbour. A boat offered in several harbours is several resources with the same boat_id.',
  source: 'docs/sources.md, 2.3, 4.3, guides/FAQ',
  key: ['id'],
  companyColumn: 'company_id',
  switches: ['test'],
  columns: [
    text('id', 'Resource ID. Read only.'),
    bigint('boatId', 'Boat ID; deprecated in favor of the full resource ID format. Read only.'),
    text('name', 'Boat name. Read only.'),
    text('description', 'Product description. Read only.'),
    timestamp('creationDatetime', 'Creation date-time. Read only.'),
    timestamp('lastModificationDatetime', 'Last update date-time. Read only.'),
    numeric('minPrice', 'Minimum rental price; the price varies with the rental duration. Read only.'),
    boolean('isLicenseMandatory', 'True if a boat license is mandatory. Read only.'),
    boolean('isRentable', 'True if the resource is available for rental. Read only.'),
    boolean('isSkipperAvailable', 'True if a skipper is available. Read only.'),
    boolean('isSkipperMandatory', 'True if a skipper is mandatory. Read only.'),
    reference('company.id', 'Company: companies.id. Read only.'),
    reference('harbour.id', 'Harbour: harbours.id. Read only.'),
    json('images', 'Cover and other images in four sizes. Read only.'),
    bigint('version.id', 'Boat version ID. Read only.'),
    text('version.name', 'Boat version name.'),
    text('version.description', 'Boat version description.'),
    json('version.images', 'Images of the boat version.'),
    bigint('version.model.id', 'Boat model ID. Read only.', { name: 'model_id' }),
    text('version.model.name', 'Boat model name.', { name: 'model_name' }),
    text('version.model.description', 'Boat model description.', { name: 'model_description' }),
    bigint('version.model.range.id', 'Boat range ID. Read only.', { name: 'range_id' }),
    text('version.model.range.name', 'Boat range name.', { name: 'range_name' }),
    text('version.model.range.description', 'Boat range description.', { name: 'range_description' }),
    bigint('version.model.range.builder.id', 'Builder ID. Read only.', { name: 'builder_id' }),
    text('version.model.range.builder.name', 'Builder name.', { name: 'builder_name' }),
    text('version.model.range.builder.description', 'Builder description.', { name: 'builder_description' }),
    reference('version.subtype.id', 'Subtype: subtypes.id. Read only.', { name: 'subtype_id' }),
    reference('version.subtype.type.id', 'Type: types.id. Read only.', { name: 'type_id' }),
  ],
  reads: {
    kind: 'list',
    list: 'GET /v3/resources',
    single: { endpoint: 'GET /v3/resources/{resourceId}', param: 'resourceId', repeats: 'GET /v3/resources' },
    paged: true,
  },
  freshness: 'detail',
  modified: 'lastModificationDatetime',
  every: '15m',
  alsoKnown: ['durations'],
  embeds: [
    { path: 'company', stream: 'companies' },
    { path: 'harbour', stream: 'harbours' },
    { path: 'version.subtype', stream: 'subtypes' },
  ],
}

const entryColumns = (what: string): readonly Column[] => [
  resourceId,
  bigint('id', `${what}: ${what === 'Characteristic' ? 'characteristics' : 'equipments'}.id. Read only.`),
  text('key', 'Unique code identifying the entry. Read only.'),
  text('name', 'Name. Read only.'),
  text('familyName', 'Family or group name. Read only.'),
  text('comment', 'Additional comment. Read only.'),
  text('unit', 'QUANTITY, METRE, HORSEPOWER, LITRE, WEIGHT, SPEED. Read only.'),
  text('value', 'Value. Read only.'),
]

export const resourceCharacteristics: StreamDef = {
  name: 'resource_characteristics',
  comment: 'Characteristics of a resource, taken from its record.',
  source: 'docs/sources.md, 2.1, 2.3',
  key: ['resource_id', 'id'],
  ...belowResource,
  columns: entryColumns('Characteristic'),
  reads: { kind: 'inside', path: 'characteristics' },
  freshness: 'detail',
  every: '15m',
}

export const resourceEquipments: StreamDef = {
  name: 'resource_equipments',
  comment: 'Equipment of a resource, taken from its record.',
  source: 'docs/sources.md, 2.1, 2.3',
  key: ['resource_id', 'id'],
  ...belowResource,
  columns: entryColumns('Equipment'),
  reads: { kind: 'inside', path: 'equipments' },
  freshness: 'detail',
  every: '15m',
}

export const resourceDurations: StreamDef = {
  name: 'resource_durations',
  comment: 'Durations that a resource can be rented for, as returned for today.',
  source: 'docs/sources.md, 2.1, 4.3, reference/retrieve-resource-details/get-resource-durations',
  key: ['resource_id', 'type', 'value'],
  ...belowResource,
  columns: [
    resourceId,
    text('type', 'MINUTES, PERIODS, DAYS, WEEKS. Read only.'),
    text('value', 'A period name such as MORNING, AFTERNOON, EVENING, or a number. Read only.'),
    fromRequest(
      'position',
      'bigint',
      'Position in the answer, from 0. Slots and availability are read for the first ones.',
    ),
  ],
  reads: { kind: 'collection', list: 'GET /v3/resources/{resourceId}/durations', dayParam: 'date' },
  freshness: 'detail',
  every: '1h',
}

export const resourceOptions: StreamDef = {
  name: 'resource_options',
  comment: 'Options that can be booked with a resource.',
  source: 'docs/sources.md, 4.3, resources/resource-option',
  key: ['resource_id', 'id'],
  ...belowResource,
  columns: [
    resourceId,
    bigint('id', 'Option ID. Read only.'),
    text('name', 'Name. Read only.'),
    text('description', 'Description. Read only.'),
    boolean('isMandatory', 'True if the option must be taken. Read only.'),
    json('type', 'Classification: id, key, value. Read only.'),
    json('subtype', 'Finer classification: id, key, value. Read only.'),
    json(
      'prices',
      'Price periods: start_date, end_date, price, unit (PURCHASE, HOUR, DAY, WEEK), currency, slot_option_id. Read only.',
    ),
  ],
  reads: {
    kind: 'collection',
    list: 'GET /v3/resources/{resourceId}/options',
    single: {
      endpoint: 'GET /v3/resources/{resourceId}/options/{optionId}',
      param: 'optionId',
      repeats: 'GET /v3/resources/{resourceId}/options',
    },
  },
  freshness: 'detail',
  every: '1h',
}

export const resourcePricetable: StreamDef = {
  name: 'resource_pricetable',
  comment: 'Price of a resource per day and duration, for PRICE_DAYS from today. Past days are kept for HISTORY_DAYS.',
  source: 'docs/sources.md, 4.3, resources/pricetable',
  key: ['resource_id', 'date', 'duration'],
  ...belowResource,
  columns: [
    resourceId,
    date('date', 'Day of departure. Read only.'),
    text('duration', 'Duration as TYPE,VALUE, such as DAYS,1. Read only.'),
    numeric('base_price', 'Price of that duration. Read only.'),
    currency('currency', 'Currency, as text or as an object. Read only.'),
  ],
  reads: { kind: 'pricetable', endpoint: 'GET /v3/resources/{resourceId}/pricetable' },
  freshness: 'detail',
  horizon: 'date',
  onlyWith: ['priceDays'],
  every: '1h',
  alsoKnown: ['resourceId', 'date', 'currency'],
}

export const resourcePricings: StreamDef = {
  name: 'resource_pricings',
  comment: 'Pricings of a resource. Shape not published; the whole record is in _payload.',
  source: 'docs/sources.md, 4.3',
  key: ['resource_id', 'key'],
  keyed: 'content',
  ...belowResource,
  columns: [resourceId, ...keyedByContent],
  reads: { kind: 'collection', list: 'GET /v3/resources/{resourceId}/pricings' },
  freshness: 'detail',
  every: '1h',
}
