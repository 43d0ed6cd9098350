// Names and addresses that believable customers, companies and boats are made of.

const names = (text: string): readonly string[] => text.trim().split(/,\s+/)

/** Civility, and first names that go with it. */
export const firstNames = [
  ['MS', names('Camille, Manon, Chloé, Léa, Élodie, Sofia, Anna, Ingrid, Giulia, Beatriz, Katarina, Zoë')],
  ['MR', names('Lucas, Hugo, Théo, Jérôme, François, Matteo, Lars, Jürgen, Álvaro, Nikos, Ivan, Oliver')],
  ['OTHER', names('Alex, Charlie, Sacha, Robin')],
] as const

export const lastNames = names(`
  Martin, Bernard, Dubois, Lefèvre, Moreau, Girard, Bonnet, L'Hostis, Le Goff, Rossi, Ferrari, García, Núñez,
  Müller, Schäfer, van den Berg, de Vries, Papadopoulos, Horvat, Silva, Smith, Jansson
`)

export const streets = names(`
  rue de la République, quai du Port, avenue Jean Jaurès, boulevard Victor Hugo, chemin des Vignes,
  rue du Château, place du Marché, allée des Pins, rue Pasteur, impasse des Mouettes
`)

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

export const companyNames = names(`
  Azur Location, Cap Liberté, Nautic Passion, Blue Horizon Charter, Voile & Mer, Mar i Vent, Marina Sport,
  Adriatic Sails, Odyssey Boats, Rêve de Large, Bon Vent Nautique, Sud Évasion
`)

export const messages = [
  'Arrivée vers 9 h, merci de préparer le bateau.',
  'First time on a boat this size, a short briefing would help.',
  'Nous serons deux familles avec enfants.',
  'Könnten wir bitte zwei Stand-up-Paddles bekommen?',
  'Anniversaire à bord 🎉',
] as const

export const boatNames = names(`
  Belle Étoile, Mistral, Cormoran, Sirocco, Pétrel, Albatros, Calypso, Tramontane, Ondine, Espadon, Marsouin,
  Goéland, Étoile de Mer, Alizé, Libeccio, Nausicaa, Triton, Galatée, Zéphyr, Neptune
`)
