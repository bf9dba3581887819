#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
import { enableCompileCache } from 'node:module'
import { reserveStdout } from './reserve-stdout.ts'

// Clients start this process and wait for it: from the second time on its code is there at once.
enableCompileCache()
const protocol = reserveStdout()
const { runCommand } = await import('./run-command.ts')
process.exit(await runCommand(process.argv.slice(2), process.env, protocol))
