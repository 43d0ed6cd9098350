// Rental companies and the resources they rent out, with options, pricings and blocked times.

import * as boats from '../data/boats.ts'
import { boatNames, companyNames, streets } from '../data/people.ts'
import { countries, harbours } from '../data/places.ts'
import { type BlockedDays, blockFields } from './calendar.ts'
import { DAY_MS } from './dates.ts'
import { createEntity, type Entity, type Resource } from './entity.ts'
import { cents } from './prices.ts'
import type { Random } from './random.ts'
import { slotOptionId } from './slots.ts'
import type { World } from './world.ts'

/** Season name, first and last day (`MM-DD`), factor on the price. */
const seasons = [
  ['Low season', '01-01', '04-30', 0.8],
  ['Mid season', '05-01', '06-30', 1],
  ['High season', '07-01', '08-31', 1.45],
  ['Late season', '09-01', '12-31', 0.9],
] as const

/** Price of a duration as a multiple of a day's. */
const durationFactors: Readonly<Record<string, number>> = {
  'MINUTES,60': 0.35,
  'MINUTES,120': 0.6,
  'PERIODS,MORNING': 0.6,
  'PERIODS,AFTERNOON': 0.65,
  'DAYS,1': 1,
  'DAYS,2': 1.9,
  'DAYS,3': 2.7,
  'WEEKS,1': 5.5,
  'WEEKS,2': 10.2,
}

const isoBefore = (world: World, random: Random, minDays: number, maxDays: number): string =>
  new Date(
    Date.parse(`${world.today}T08:00:00Z`) -
      Math.floor(random.next() * (maxDays - minDays) + minDays) * DAY_MS +
      random.int(0, 3_600_000),
  ).toISOString()

/** A picture in four sizes; the address is of a host that does not exist. */
function picture(name: string) {
  const size = (label: string, width: number) => ({
    height: Math.round((width * 2) / 3),
    uri: `https://images.example.com/${label}/${name}.jpg`,
    width,
  })
  return {
    large: size('large', 1600),
    medium: size('medium', 800),
    original: size('original', 3000),
    small: size('small', 320),
  }
}

/** One version for each known model; builders, ranges and models have no endpoints. */
export function generateVersions(world: World): void {
  const builders = [...new Set(boats.models.map(([builder]) => builder))]
  const named = (id: number, name: string) => ({ id, name, description: null })
  const versions = boats.models.map(([builder, range, model, name, subtype], index) =>
    createEntity(
      'versions',
      world.nextId('versions', 501),
      {
        name,
        description: `${builder} ${name}`,
        images: { cover: picture(`version-${index}`), others: [] },
        model: {
          ...named(401 + index, model),
          range: { ...named(301 + index, range), builder: named(51 + builders.indexOf(builder), builder) },
        },
      },
      { subtype: world.reference('subtypes', subtype) },
    ),
  )
  world.versions.load(versions)
}

/** A company of one of the cities. */
export function makeCompany(world: World, random: Random): Entity {
  const key = world.nextId('companies', 101)
  const name = `${random.pick(companyNames)} ${key}`
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const { city, postalCode } = random.pick(harbours.filter(({ city }) => world.knows('cities', city)))
  const siret = String(random.int(100_000_000, 999_999_999))
  return createEntity(
    'companies',
    key,
    {
      addressPostalCode: postalCode,
      addressStreet1: `${random.int(1, 180)} ${random.pick(streets)}`,
      addressStreet2: random.chance(0.2) ? 'Bâtiment B' : null,
      companyBrandName: name,
      companyContactEmail: `contact@${slug}.example.com`,
      companyContactPhone: { countryCode: '33', number: `4${random.int(10_000_000, 99_999_999)}` },
      companyLegalReason: `${name} SAS`,
      companyLogo: `/logos/${slug}.png`,
      companySiretNumber: `${siret}00012`,
      companyVatNumber: `FR${random.int(10, 99)}${siret}`,
      companyWebsiteUrl: `https://${slug}.example.com`,
    },
    {
      addressCity: world.reference('cities', city),
      companyLegalForm: world.reference('company_legal_forms', random.pick(boats.legalForms)[0]),
    },
  )
}

/** A boat in a harbour. `boat` gives the same boat in a second harbour: it shares boat id, model and name. */
export function makeResource(
  world: World,
  random: Random,
  company: Entity,
  choice: { readonly boat?: Resource; readonly isTest?: boolean; readonly fleet?: number } = {},
): Resource {
  const boatId = choice.boat?.boatId ?? String(1001 + world.resources.size)
  const elsewhere = harbours.filter(({ name }) => name !== harbourNameOf(choice.boat))
  const place = random.pick(elsewhere.filter(({ name }) => world.knows('harbours', name)))
  const [, , winterOffset, currency] = countries.find(([code]) => code === place.country) ?? countries[0]
  const harbour = world.reference('harbours', place.name)
  const version = choice.boat?.links.version ?? random.pick([...world.versions.values()])
  const versionName = typeof version === 'object' && version ? version.own.name : null
  const model = boats.models.find(([, , , name]) => name === versionName) ?? boats.models[0]
  const [, , , , , length, power, passengers, dayPrice, plan] = model
  const durations = boats.rentalPlans[plan]
  const price = Math.round(dayPrice * (0.85 + random.next() * 0.3))
  const created = isoBefore(world, random, 200, 1500)
  const pricings = makePricings(world, durations, price, currency)
  const characteristic = (key: string, value: number) => ({
    ...entryOf(world, 'characteristics', key),
    comment: null,
    value: String(value),
  })
  const equipments = random.shuffle(boats.equipments).slice(0, random.int(3, 8))
  const resource: Resource = {
    ...createEntity(
      'resources',
      `${boatId}-${harbour.key}`,
      {
        boatId: Number(boatId),
        name: choice.boat?.own.name ?? `${random.pick(boatNames)} ${boatId}`,
        description: `${versionName} in ${place.city}, for up to ${passengers} people.`,
        creationDatetime: created,
        lastModificationDatetime: isoBefore(world, random, 1, 200),
        minPrice: Math.min(...pricings.map(({ own }) => Number(own.price))),
        isLicenseMandatory: power > 6,
        isRentable: true,
        isSkipperAvailable: random.chance(0.7),
        isSkipperMandatory: random.chance(0.1),
        characteristics: [
          characteristic('LENGTH', length),
          characteristic('ENGINE_POWER', power),
          characteristic('PASSENGERS', passengers),
          characteristic('YEAR', random.int(2008, 2025)),
        ],
        equipments: equipments.map(([key]) => ({ ...entryOf(world, 'equipments', key), comment: null, value: 'true' })),
        durations: durations.map((text) => {
          const [type, value] = text.split(',')
          return { type, value }
        }),
        images: { cover: picture(`boat-${boatId}`), others: [picture(`boat-${boatId}-2`)] },
      },
      { company, harbour, version },
    ),
    boatId,
    fleet: choice.fleet ?? (choice.boat || random.chance(0.8) ? 1 : random.int(2, 4)),
    isTest: choice.isTest ?? false,
    twoDepartures: random.chance(0.25),
    delayDays: [random.int(0, 1), random.int(0, 2)],
    winterOffset,
    currency,
    hasTides: ['Manche', 'Bretagne sud', "Mer d'Iroise", 'Solent'].includes(place.waters),
    options: makeOptions(world, random, currency),
    pricings,
    unavailabilities: [],
  }
  return resource
}

const harbourNameOf = (resource: Resource | undefined): unknown => {
  const harbour = resource?.links.harbour
  return typeof harbour === 'object' ? harbour?.own.name : undefined
}

function entryOf(world: World, table: 'characteristics' | 'equipments', key: string) {
  for (const entity of world.references[table].records.values()) {
    if (entity.own.key === key) return { id: Number(entity.key), ...entity.own }
  }
  throw new Error(`The sandbox's data has no ${table} with the key ${key}`)
}

function makePricings(world: World, durations: readonly string[], dayPrice: number, currency: string): Entity[] {
  const year = world.today.slice(0, 4)
  return seasons.flatMap(([name, from, to, factor]) =>
    durations.map((duration) =>
      createEntity('resource_pricings', world.nextId('resource_pricings', 90_001), {
        name,
        startDate: `${year}-${from}`,
        endDate: `${year}-${to}`,
        duration,
        price: cents(Math.round(dayPrice * factor * (durationFactors[duration] ?? 1))),
        currency,
      }),
    ),
  )
}

const optionTypes = ['SERVICE', 'CREW', 'EQUIPMENT', 'COMFORT']

/** An option of a resource, made from a row of the list of options. */
export function makeOption(world: World, row: (typeof boats.options)[number], currency: string): Entity {
  const [name, description, isMandatory, type, unit, price] = row
  const key = world.nextId('resource_options', 7001)
  const year = world.today.slice(0, 4)
  const classification = { id: optionTypes.indexOf(type) + 1, key: type, value: type.toLowerCase() }
  return createEntity('resource_options', key, {
    name,
    description,
    isMandatory,
    type: classification,
    subtype: { id: 10 + boats.options.indexOf(row), key: `${type}_${boats.options.indexOf(row)}`, value: name },
    prices: [
      {
        start_date: `${year}-01-01`,
        end_date: `${year}-12-31`,
        price,
        unit,
        currency: { code: currency },
        slot_option_id: slotOptionId(key),
      },
    ],
  })
}

function makeOptions(world: World, random: Random, currency: string): Entity[] {
  const [cleaning, ...others] = boats.options
  const rows = [cleaning, ...random.shuffle(others).slice(0, random.int(2, 5))]
  return rows.map((row) => makeOption(world, row, currency))
}

/** A time the company keeps a boat for itself. */
export function makeBlock(world: World, resource: Resource, stretch: BlockedDays): Entity {
  const key = world.nextId('resource_unavailabilities')
  return createEntity('resource_unavailabilities', key, blockFields(resource, stretch))
}

/** Companies, resources (some boats in two harbours, one fleet, one test resource) in believable proportions. */
export function generateCompanies(
  world: World,
  random: Random,
  counts: { companies: number; resources: number },
): void {
  const companies = Array.from({ length: counts.companies }, () => makeCompany(world, random))
  world.companies.load(companies)
  let previous: Resource | undefined
  for (let index = 0; index < counts.resources; index++) {
    const company = companies[index % companies.length]
    if (!company) continue
    const twin = previous !== undefined && previous.fleet === 1 && index % 8 === 5
    const choice = index === 0 ? { fleet: 4 } : twin && previous ? { boat: previous } : {}
    let resource = makeResource(world, random, twin ? companyOf(previous, company) : company, choice)
    while (world.resources.get(resource.key)) resource = makeResource(world, random, company, choice)
    world.resources.add(resource)
    previous = resource
  }
  const [company] = companies
  if (company) world.resources.add(makeResource(world, random, company, { isTest: true }))
}

const companyOf = (resource: Resource | undefined, otherwise: Entity): Entity => {
  const company = resource?.links.company
  return typeof company === 'object' && company ? company : otherwise
}
