// Text that others wrote, made safe to show. A terminal obeys control characters: they could recolour, overwrite or answer.
// Pure.

/** C0 but tab and newline, DEL, C1 (of which U+009B begins a sequence as ESC [ does), line separators, and what turns the direction of writing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g
const lineEndsAndControls = new RegExp(`(?:[\\t\\n]|${controls.source})+`, 'g')

/** Text with control characters written out (`\u001b`); JSON stays the same JSON. */
export const withoutControls = (text: string): string =>
  text.replace(controls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Text on one line, cut to a length in characters; each run of control characters and line ends becomes a space. */
export function oneLine(text: string, length = 100): string {
  const plain = text.replace(lineEndsAndControls, ' ')
  return plain.length <= length ? plain : `${plain.slice(0, length - 1)}…`
}
