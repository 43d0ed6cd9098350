#!/usr/bin/env node
// The entry point of the command line. Modules loaded from here on show their place in `src` in stack traces.

process.setSourceMapsEnabled(true)
const { startProgram } = await import('./program.ts')
await startProgram()
