export function bundle(wanted: {
  readonly entries: Readonly<Record<string, string>>
  readonly outDir: string
  readonly packages: 'inside' | 'outside'
  readonly besides?: readonly string[]
}): Promise<ReadonlySet<string>>
