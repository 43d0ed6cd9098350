/** The text below the heading of a version, without the heading; empty if there is none. */
export function notesOf(changelog: string, version: string): string
/** With links to files of the repository as they were at the tag. */
export function withAbsoluteLinks(notes: string, folder: string): string
