import { buildPage } from './build-page.ts'
import { runStudio } from './run-studio.ts'

// Command of the repository. It rebuilds the page if its sources have changed.
process.exitCode = await runStudio(process.argv.slice(2), buildPage)
