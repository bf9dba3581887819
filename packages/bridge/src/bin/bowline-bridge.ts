#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
import { enableCompileCache } from 'node:module'
import { reserveStdout } from './reserve-stdout.ts'

// Clients wait for this process to start. The compile cache shortens every start after the first.
enableCompileCache()
const protocol = reserveStdout()
const { runCommand } = await import('./run-command.ts')
process.exit(await runCommand(process.argv.slice(2), process.env, protocol))
