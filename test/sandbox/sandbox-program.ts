// The command line with nothing but `sandbox`, to be run as a process of its own by command.test.ts.

import { Command } from 'commander'
import { registerSandbox } from '../../src/cli/usage/sandbox.ts'

const program = new Command()
registerSandbox(program)
await program.parseAsync()
