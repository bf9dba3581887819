import { buildPage } from './build-page.ts'
import { runStudio } from './run-studio.ts'

// Of the repository: it builds the page when that has changed.
process.exitCode = await runStudio(process.argv.slice(2), buildPage)
