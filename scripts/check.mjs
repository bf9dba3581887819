// node scripts/check.mjs [gate...]: runs all checks that must pass before a merge, or only the named gates.
import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { runGates, summaryLine } from './gate-runner.mjs'
import { root, workspaceEnv } from './setup.mjs'

/**
 * Gates, longest first. `after`: gates whose output this one reads. `waits`: the gate mostly waits for a timer or another process,
 * and other gates use that time.
 *
 * @type {readonly import('./gate-runner.mjs').Gate[]}
 */
const gates = [
  { name: 'programs', command: 'node scripts/test-programs.mjs' },
  { name: 'test', command: `vitest run --project !demo-e2e ${reportTo('tests.json')}`, after: ['programs'], waits: true },
  // With more memory for young objects it takes a tenth less time.
  { name: 'lint', command: 'node --max-semi-space-size=64 node_modules/eslint/bin/eslint.js . --max-warnings 0' },
  { name: 'build', command: 'turbo run build --output-logs=errors-only' },
  { name: 'pack', command: 'node scripts/pack.mjs', after: ['build'] },
  { name: 'docs', command: 'typedoc --logLevel Warn' },
  { name: 'types', command: 'node scripts/types.mjs' },
  // Rules that need types run in the native compiler, which takes a fifth of the time of eslint.
  { name: 'lint-types', command: 'oxlint --type-aware --deny-warnings' },
  { name: 'format', command: 'oxfmt --check' },
  // Checks the imports inside each package: 2 CPU seconds.
  { name: 'structure', command: 'node scripts/structure.mjs' },
  { name: 'smoke', command: 'node scripts/smoke.mjs', after: ['pack'] },
  { name: 'packages', command: 'node scripts/check-tarballs.mjs', after: ['pack'] },
  // Versions, publishes to a local registry and installs from it, with the commands of the workflow.
  { name: 'release', command: 'node scripts/release.mjs', after: ['build'] },
  { name: 'unused', command: 'knip' },
  // Builds the site and opens it in a browser.
  { name: 'site', command: 'vitest run --root apps/site', after: ['docs'] },
  { name: 'size', command: 'size-limit', after: ['build'] },
  // Browser, server and tests use two cores. Next to other gates they would be too slow.
  { name: 'e2e', command: `vitest run --project demo-e2e ${reportTo('tests-e2e.json')}`, after: ['programs'], alone: true },
]

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !gates.some((gate) => gate.name === name))
if (unknown.length > 0) {
  console.error(`No such gate: ${unknown.join(', ')}. There are: ${gates.map((gate) => gate.name).join(', ')}`)
  process.exit(2)
}

const total = await runGates(gates, { wanted, lanes: 2, execute, print: (text) => console.log(text) })
console.log(summaryLine(total))
process.exitCode = total.failed > 0 ? 1 : 0

/**
 * Returns the flags to report every test to a file, for `npm run rules`.
 *
 * @param {string} file
 */
function reportTo(file) {
  return `--reporter default --reporter ./scripts/vitest-summary-reporter.mjs --reporter json --outputFile.json node_modules/.cache/bowline/${file}`
}

/**
 * @param {import('./gate-runner.mjs').Gate} gate
 * @returns {Promise<{ code: number, output: string }>}
 */
function execute(gate) {
  const [program = '', ...args] = gate.command.split(' ')
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: workspaceEnv() })
    if (!gate.waits && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (output += text))
    child.on('error', (error) => resolve({ code: 1, output: `${output}${error.message}\n` }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}
