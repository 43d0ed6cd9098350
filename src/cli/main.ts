#!/usr/bin/env node
// Where the command line starts. What is loaded from here on says in its stack traces where it stands in `src`.

process.setSourceMapsEnabled(true)
const { startProgram } = await import('./program.ts')
await startProgram()
