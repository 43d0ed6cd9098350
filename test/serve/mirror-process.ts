// A whole Boat Mirror as a process of its own, to be killed. Its only argument is JSON of {@link WholeMirrorOptions}; it says
// where it serves once it works, and ends cleanly with SIGTERM.

import { once } from 'node:events'
import { openWholeMirror, type WholeMirrorOptions } from './whole-mirror.ts'

const mirror = await openWholeMirror(JSON.parse(process.argv[2] ?? '{}') as WholeMirrorOptions)
process.stdout.write(`ready ${mirror.url}\n`)
await once(process, 'SIGTERM')
await mirror[Symbol.asyncDispose]()
