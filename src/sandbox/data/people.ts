// Names and addresses that believable customers and companies are made of.

export const firstNames = [
  [
    'MS',
    ['Camille', 'Manon', 'Chloé', 'Léa', 'Élodie', 'Sofia', 'Anna', 'Ingrid', 'Giulia', 'Beatriz', 'Katarina', 'Zoë'],
  ],
  [
    'MR',
    ['Lucas', 'Hugo', 'Théo', 'Jérôme', 'François', 'Matteo', 'Lars', 'Jürgen', 'Álvaro', 'Nikos', 'Ivan', 'Oliver'],
  ],
  ['OTHER', ['Alex', 'Charlie', 'Sacha', 'Robin']],
] as const

export const lastNames = [
  'Martin',
  'Bernard',
  'Dubois',
  'Lefèvre',
  'Moreau',
  'Girard',
  'Bonnet',
  "L'Hostis",
  'Le Goff',
  'Rossi',
  'Ferrari',
  'García',
  'Núñez',
  'Müller',
  'Schäfer',
  'van den Berg',
  'de Vries',
  'Papadopoulos',
  'Horvat',
  'Silva',
  'Smith',
  'Jansson',
] as const

export const streets = [
  'rue de la République',
  'quai du Port',
  'avenue Jean Jaurès',
  'boulevard Victor Hugo',
  'chemin des Vignes',
  'rue du Château',
  'place du Marché',
  'allée des Pins',
  'rue Pasteur',
  'impasse des Mouettes',
] as const

/** City, postal code, state, country. */
export const residences = [
  ['Lyon', '69002', 'Auvergne-Rhône-Alpes', 'FR'],
  ['Paris', '75011', 'Île-de-France', 'FR'],
  ['Nantes', '44000', 'Pays de la Loire', 'FR'],
  ['Toulouse', '31000', 'Occitanie', 'FR'],
  ['Madrid', '28013', 'Madrid', 'ES'],
  ['Torino', '10121', 'Piemonte', 'IT'],
  ['München', '80331', 'Bayern', 'DE'],
  ['Utrecht', '3511', 'Utrecht', 'NL'],
  ['Bruxelles', '1000', 'Bruxelles-Capitale', 'BE'],
  ['Genève', '1204', 'Genève', 'CH'],
  ['London', 'SE1 9GF', 'England', 'GB'],
  ['Göteborg', '411 03', 'Västra Götaland', 'SE'],
] as const

/** The seven supported languages (docs/sources.md, guides/FAQ). */
export const languages = [
  ['fr', 'Français'],
  ['en', 'English'],
  ['de', 'Deutsch'],
  ['es', 'Español'],
  ['it', 'Italiano'],
  ['nl', 'Nederlands'],
  ['pt', 'Português'],
] as const

export const companyNames = [
  'Azur Location',
  'Cap Liberté',
  'Nautic Passion',
  'Blue Horizon Charter',
  'Voile & Mer',
  'Mar i Vent',
  'Marina Sport',
  'Adriatic Sails',
  'Odyssey Boats',
  'Rêve de Large',
  'Bon Vent Nautique',
  'Sud Évasion',
] as const

export const messages = [
  'Arrivée vers 9 h, merci de préparer le bateau.',
  'First time on a boat this size, a short briefing would help.',
  'Nous serons deux familles avec enfants.',
  'Könnten wir bitte zwei Stand-up-Paddles bekommen?',
  'Anniversaire à bord 🎉',
] as const
