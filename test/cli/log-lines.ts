// Logs, as the program would, what an API or a library may have written; the argument `pretty` is for a terminal.

import { BoatMirrorError } from '../../src/errors.ts'
import { createLogger } from '../../src/log.ts'

const hostile = 'a\u001b[2Jb\u009b31mc\u0007d\re\u202ef\\u001bg\nh'
const log = createLogger('info', { pretty: process.argv[2] === 'pretty' })
log.warn({ event: 'hostile', reason: hostile }, hostile)
log.warn({ err: new BoatMirrorError('API_REJECTED', hostile) }, 'ours')
log.warn({ err: Object.assign(new Error('x'), { code: 'A sentence, and not a code.' }) }, 'sentence')
log.warn({ err: Object.assign(new Error('x'), { code: 'ECONNRESET' }) }, 'code')
