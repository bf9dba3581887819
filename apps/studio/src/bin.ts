#!/usr/bin/env node
import { join } from 'node:path'
import { runStudio } from './run-studio.ts'

// Of the package: the page lies built beside it.
process.exitCode = await runStudio(process.argv.slice(2), () => Promise.resolve(join(import.meta.dirname, 'page')))
