// True harbours of Europe with their coordinates and the areas around them. Facts only.

/** Country code, English name, hours ahead of UTC in winter, currency. */
export const countries = [
  ['FR', 'France', 1, 'EUR'],
  ['ES', 'Spain', 1, 'EUR'],
  ['IT', 'Italy', 1, 'EUR'],
  ['HR', 'Croatia', 1, 'EUR'],
  ['GR', 'Greece', 2, 'EUR'],
  ['PT', 'Portugal', 0, 'EUR'],
  ['NL', 'Netherlands', 1, 'EUR'],
  ['GB', 'United Kingdom', 0, 'GBP'],
  ['DE', 'Germany', 1, 'EUR'],
  ['BE', 'Belgium', 1, 'EUR'],
  ['CH', 'Switzerland', 1, 'CHF'],
  ['SE', 'Sweden', 1, 'SEK'],
] as const

/** A harbour with its city, the areas of level 2 and 1 around it, its country's code and the waters it lies at. */
const facts = ['name', 'latitude', 'longitude', 'city', 'postalCode', 'level2', 'level1', 'country', 'waters'] as const

/** One harbour a line, its facts in the order of `facts`. */
const harbourLines = `
Vieux-Port de Marseille, 43.2951, 5.3739, Marseille, 13002, Bouches-du-Rhône, Provence-Alpes-Côte d'Azur, FR, Provence
Port de la Pointe Rouge, 43.2447, 5.3701, Marseille, 13008, Bouches-du-Rhône, Provence-Alpes-Côte d'Azur, FR, Provence
Port de Cassis, 43.2142, 5.5376, Cassis, 13260, Bouches-du-Rhône, Provence-Alpes-Côte d'Azur, FR, Provence
Port de Bandol, 43.1345, 5.7545, Bandol, 83150, Var, Provence-Alpes-Côte d'Azur, FR, Côte d'Azur
Port d'Hyères, 43.0826, 6.1563, Hyères, 83400, Var, Provence-Alpes-Côte d'Azur, FR, Côte d'Azur
Port de Saint-Tropez, 43.2722, 6.6372, Saint-Tropez, 83990, Var, Provence-Alpes-Côte d'Azur, FR, Côte d'Azur
Vieux-Port de Cannes, 43.5486, 7.0147, Cannes, 06400, Alpes-Maritimes, Provence-Alpes-Côte d'Azur, FR, Côte d'Azur
Port Vauban, 43.5869, 7.1286, Antibes, 06600, Alpes-Maritimes, Provence-Alpes-Côte d'Azur, FR, Côte d'Azur
Port Lympia, 43.6953, 7.2853, Nice, 06300, Alpes-Maritimes, Provence-Alpes-Côte d'Azur, FR, Côte d'Azur
Port de Bonifacio, 41.3883, 9.1611, Bonifacio, 20169, Corse-du-Sud, Corse, FR, Corse
Port Tino Rossi, 41.9206, 8.7406, Ajaccio, 20000, Corse-du-Sud, Corse, FR, Corse
Port de Calvi, 42.5666, 8.7591, Calvi, 20260, Haute-Corse, Corse, FR, Corse
Port Camargue, 43.5167, 4.1333, Le Grau-du-Roi, 30240, Gard, Occitanie, FR, Golfe du Lion
Port de Sète, 43.4011, 3.6958, Sète, 34200, Hérault, Occitanie, FR, Golfe du Lion
Port du Cap d'Agde, 43.2803, 3.5036, Agde, 34300, Hérault, Occitanie, FR, Golfe du Lion
Port d'Arcachon, 44.6603, -1.1503, Arcachon, 33120, Gironde, Nouvelle-Aquitaine, FR, Golfe de Gascogne
Port des Minimes, 46.1444, -1.1675, La Rochelle, 17000, Charente-Maritime, Nouvelle-Aquitaine, FR, Pertuis charentais
Port Olona, 46.5033, -1.7967, Les Sables-d'Olonne, 85100, Vendée, Pays de la Loire, FR, Golfe de Gascogne
Port de Pornic, 47.1092, -2.1136, Pornic, 44210, Loire-Atlantique, Pays de la Loire, FR, Bretagne sud
Port du Crouesty, 47.5428, -2.8969, Arzon, 56640, Morbihan, Bretagne, FR, Bretagne sud
Port de La Trinité-sur-Mer, 47.5878, -3.0256, La Trinité-sur-Mer, 56470, Morbihan, Bretagne, FR, Bretagne sud
Marina du Château, 48.3811, -4.4886, Brest, 29200, Finistère, Bretagne, FR, Mer d'Iroise
Port des Bas-Sablons, 48.6406, -2.0303, Saint-Malo, 35400, Ille-et-Vilaine, Bretagne, FR, Manche
Port Chantereyne, 49.6469, -1.6192, Cherbourg-en-Cotentin, 50100, Manche, Normandie, FR, Manche
Port de Deauville, 49.3644, 0.0731, Deauville, 14800, Calvados, Normandie, FR, Manche
Port Vell, 41.3764, 2.1847, Barcelona, 08039, Barcelona, Catalunya, ES, Costa Brava
Port de Roses, 42.2539, 3.1775, Roses, 17480, Girona, Catalunya, ES, Costa Brava
Real Club Náutico de Palma, 39.5664, 2.6353, Palma, 07012, Mallorca, Illes Balears, ES, Balearic Islands
Marina Ibiza, 38.9128, 1.4428, Eivissa, 07800, Eivissa, Illes Balears, ES, Balearic Islands
Marina di Olbia, 40.9217, 9.5214, Olbia, 07026, Sassari, Sardegna, IT, Sardinia
Marina di Portofino, 44.3036, 9.2097, Portofino, 16034, Genova, Liguria, IT, Ligurian Sea
Marina di Salerno, 40.6703, 14.7506, Salerno, 84124, Salerno, Campania, IT, Amalfi Coast
ACI Marina Split, 43.5019, 16.4297, Split, 21000, Split, Splitsko-dalmatinska, HR, Dalmatia
ACI Marina Dubrovnik, 42.6711, 18.1244, Dubrovnik, 20236, Dubrovnik, Dubrovačko-neretvanska, HR, Dalmatia
Alimos Marina, 37.9131, 23.7028, Alimos, 17455, South Athens, Attica, GR, Saronic Gulf
Gouvia Marina, 39.6497, 19.8489, Corfu, 49100, Corfu, Ionian Islands, GR, Ionian Sea
Marina de Lagos, 37.1094, -8.6747, Lagos, 8600-315, Faro, Algarve, PT, Algarve
Doca de Belém, 38.6944, -9.2006, Lisboa, 1400-038, Lisboa, Área Metropolitana de Lisboa, PT, Tejo
Jachthaven Lelystad, 52.5028, 5.4431, Lelystad, 8242, Lelystad, Flevoland, NL, IJsselmeer
Ocean Village Marina, 50.8931, -1.3878, Southampton, SO14 3TL, Hampshire, England, GB, Solent
`

export const harbours = harbourLines
  .trim()
  .split('\n')
  .map((line) => {
    const parts = line.split(', ')
    const texts = Object.fromEntries(facts.map((fact, index) => [fact, parts[index]]))
    const harbour = texts as Readonly<Record<(typeof facts)[number], string>>
    return { ...harbour, latitude: Number(harbour.latitude), longitude: Number(harbour.longitude) }
  })
