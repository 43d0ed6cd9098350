export function bundle(wanted: {
  readonly entry: string
  readonly outDir: string
  /** Of the file to run, without its ending. */
  readonly name: string
  readonly packages: 'inside' | 'outside'
}): Promise<void>
