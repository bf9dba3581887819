#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
import { readFileSync } from 'node:fs'
import { runCommand } from './run-command.ts'
import { processEnvironment } from './environment.ts'

// Read in this module only: it is the only one whose path relative to `package.json` stays the same after the build.
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string }
const exitCode = await runCommand(process.argv.slice(2), version, processEnvironment)
if (exitCode !== 'serving') process.exit(exitCode)
