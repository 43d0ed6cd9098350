// Boats a rental company would have: builders, models, types, equipment, options. Facts and believable figures.

export const types = [
  ['Motorboat', 'Boats driven by an engine'],
  ['Sailboat', 'Boats driven by sails'],
  ['Catamaran', 'Boats with two hulls'],
  ['Rigid inflatable', 'Boats with an inflatable tube around a rigid hull'],
  ['Jet ski', 'Personal watercraft'],
  ['Houseboat', 'Boats to live on, for inland waters'],
] as const

/** Subtype and the type it belongs to. */
export const subtypes = [
  ['Day cruiser', 'Motorboat'],
  ['Open boat', 'Motorboat'],
  ['Motor yacht', 'Motorboat'],
  ['Cruising monohull', 'Sailboat'],
  ['Dinghy', 'Sailboat'],
  ['Sailing catamaran', 'Catamaran'],
  ['Power catamaran', 'Catamaran'],
  ['Semi-rigid', 'Rigid inflatable'],
  ['Sit-down jet ski', 'Jet ski'],
  ['River cruiser', 'Houseboat'],
] as const

/** How a kind of boat is rented: its durations, the first one being the usual one. */
export const rentalPlans = {
  hourly: ['MINUTES,60', 'MINUTES,120', 'DAYS,1'],
  halfDay: ['PERIODS,MORNING', 'PERIODS,AFTERNOON', 'DAYS,1', 'DAYS,2'],
  daily: ['DAYS,1', 'DAYS,2', 'DAYS,3', 'WEEKS,1'],
  cruise: ['DAYS,2', 'DAYS,3', 'WEEKS,1', 'WEEKS,2'],
} as const

/** Builder, range, model, version, subtype, length in metres, horsepower, passengers, price of a day, plan. */
export const models = [
  ['Bénéteau', 'Flyer', 'Flyer 7', 'Flyer 7 SUNdeck', 'Day cruiser', 6.95, 200, 8, 320, 'daily'],
  ['Bénéteau', 'Oceanis', 'Oceanis 40.1', 'Oceanis 40.1 3 cabins', 'Cruising monohull', 12.87, 45, 8, 480, 'cruise'],
  ['Jeanneau', 'Cap Camarat', 'Cap Camarat 6.5', 'Cap Camarat 6.5 WA', 'Day cruiser', 6.48, 150, 8, 280, 'halfDay'],
  [
    'Jeanneau',
    'Sun Odyssey',
    'Sun Odyssey 349',
    'Sun Odyssey 349 2 cabins',
    'Cruising monohull',
    10.34,
    21,
    6,
    340,
    'cruise',
  ],
  ['Lagoon', 'Lagoon', 'Lagoon 42', 'Lagoon 42 4 cabins', 'Sailing catamaran', 12.8, 90, 10, 780, 'cruise'],
  ['Fountaine Pajot', 'MY', 'MY 4.S', 'MY 4.S Maestro', 'Power catamaran', 10.9, 300, 12, 890, 'daily'],
  ['Bavaria', 'Cruiser', 'Cruiser 34', 'Cruiser 34 Style', 'Cruising monohull', 9.99, 21, 6, 310, 'cruise'],
  ['Zodiac', 'Medline', 'Medline 6.8', 'Medline 6.8 NEO', 'Semi-rigid', 6.75, 175, 12, 260, 'halfDay'],
  ['Bombard', 'Explorer', 'Explorer 550', 'Explorer 550 Open', 'Semi-rigid', 5.5, 90, 8, 170, 'halfDay'],
  ['Quicksilver', 'Activ', 'Activ 505', 'Activ 505 Open', 'Open boat', 4.95, 80, 6, 150, 'halfDay'],
  ['Sea-Doo', 'GTI', 'GTI 130', 'GTI SE 130', 'Sit-down jet ski', 3.31, 130, 3, 260, 'hourly'],
  ['Yamaha', 'VX', 'VX Cruiser', 'VX Cruiser HO', 'Sit-down jet ski', 3.35, 180, 3, 290, 'hourly'],
  ['Princess', 'V', 'V50', 'V50 Open', 'Motor yacht', 15.88, 1450, 11, 1450, 'daily'],
  ['RS Sailing', 'Quest', 'RS Quest', 'RS Quest Sport', 'Dinghy', 4.29, 0, 4, 90, 'halfDay'],
  ['Nicols', 'Estivale', 'Estivale Sixto', 'Estivale Sixto Prestige', 'River cruiser', 10.2, 30, 8, 210, 'cruise'],
] as const

/** Key, name, family, unit. */
export const characteristics = [
  ['LENGTH', 'Length', 'Dimensions', 'METRE'],
  ['WIDTH', 'Beam', 'Dimensions', 'METRE'],
  ['DRAFT', 'Draft', 'Dimensions', 'METRE'],
  ['ENGINE_POWER', 'Engine power', 'Engine', 'HORSEPOWER'],
  ['FUEL_TANK', 'Fuel tank', 'Capacities', 'LITRE'],
  ['WATER_TANK', 'Water tank', 'Capacities', 'LITRE'],
  ['PASSENGERS', 'Passengers', 'Comfort', 'QUANTITY'],
  ['CABINS', 'Cabins', 'Comfort', 'QUANTITY'],
  ['BERTHS', 'Berths', 'Comfort', 'QUANTITY'],
  ['MAX_SPEED', 'Maximum speed', 'Engine', 'SPEED'],
  ['DISPLACEMENT', 'Displacement', 'Dimensions', 'WEIGHT'],
  ['YEAR', 'Year of construction', 'General', null],
] as const

/** Key, name, family. */
export const equipments = [
  ['GPS', 'GPS plotter', 'Navigation'],
  ['VHF', 'VHF radio', 'Navigation'],
  ['AUTOPILOT', 'Autopilot', 'Navigation'],
  ['DEPTH_SOUNDER', 'Depth sounder', 'Navigation'],
  ['LIFE_JACKETS', 'Life jackets', 'Safety'],
  ['LIFE_RAFT', 'Life raft', 'Safety'],
  ['FLARES', 'Flares', 'Safety'],
  ['BIMINI', 'Bimini', 'Deck'],
  ['SHOWER', 'Deck shower', 'Deck'],
  ['SWIM_LADDER', 'Swim ladder', 'Deck'],
  ['ANCHOR_WINCH', 'Electric anchor winch', 'Deck'],
  ['FRIDGE', 'Fridge', 'Comfort'],
  ['STOVE', 'Stove', 'Comfort'],
  ['BLUETOOTH', 'Bluetooth audio', 'Comfort'],
] as const

/** Name, description, mandatory, type key, unit, price, largest quantity. */
export const options = [
  ['Final cleaning', 'Cleaning of the boat after return', true, 'SERVICE', 'PURCHASE', 60, 1],
  ['Skipper', 'A professional skipper', false, 'CREW', 'DAY', 180, 1],
  ['Fuel package', 'Fuel for about 30 nautical miles', false, 'SERVICE', 'PURCHASE', 90, 1],
  ['Towed tube', 'Inflatable tube for two', false, 'EQUIPMENT', 'DAY', 45, 2],
  ['Wakeboard', 'Board, rope and vest', false, 'EQUIPMENT', 'DAY', 40, 2],
  ['Paddle board', 'Stand-up paddle board', false, 'EQUIPMENT', 'DAY', 35, 4],
  ['Bed linen', 'Sheets and towels for one person', false, 'COMFORT', 'PURCHASE', 20, 10],
  ['Parking space', 'At the harbour', false, 'SERVICE', 'DAY', 0, 2],
] as const

export const paymentMethods = [
  ['CARD', 'Credit card'],
  ['TRANSFER', 'Bank transfer'],
  ['CASH', 'Cash'],
  ['CHEQUE', 'Cheque'],
  ['VOUCHER', 'Holiday voucher'],
] as const

export const legalForms = [['SARL'], ['SAS'], ['EURL'], ['Association'], ['Sole trader']] as const
export const licenseTypes = [
  ['Coastal licence'],
  ['Offshore licence'],
  ['Inland waters licence'],
  ['ICC'],
  ['Day skipper'],
] as const
