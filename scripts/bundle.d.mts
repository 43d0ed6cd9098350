export function bundle(wanted: {
  readonly entries: Readonly<Record<string, string>>
  readonly outDir: string
}): Promise<void>
