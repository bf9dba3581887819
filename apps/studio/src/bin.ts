#!/usr/bin/env node
import { join } from 'node:path'
import { runStudio } from './run-studio.ts'

// Command of the package. The built page is in the same folder.
process.exitCode = await runStudio(process.argv.slice(2), () => Promise.resolve(join(import.meta.dirname, 'page')))
