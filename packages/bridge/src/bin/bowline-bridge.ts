#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
import { reserveStdout } from './reserve-stdout.ts'
import { runCommand } from './serve.ts'

const protocol = reserveStdout()
process.exit(await runCommand(process.argv.slice(2), protocol))
