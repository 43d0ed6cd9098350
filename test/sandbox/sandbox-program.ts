// The command line with nothing but `sandbox`, to be run as a process of its own by command.test.ts.

import { Usage } from '../../src/cli/usage/command.ts'
import { addSandbox } from '../../src/cli/usage/sandbox.ts'

const program = new Usage()
addSandbox(program)
await program.parseAsync()
