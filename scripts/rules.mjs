// node scripts/rules.mjs: lists the numbered rules of the specifications that no test of the last `npm test` has passed. Before the
// first run it uses the names in the test sources. It only informs and never fails.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './setup.mjs'
import { compareRules, rulesInSpecification, rulesInTests, rulesOfRun, testPatterns } from './rule-names.mjs'

const testReport = join(root, 'node_modules/.cache/bowline/tests.json')
const e2eReport = join(root, 'node_modules/.cache/bowline/tests-e2e.json')

/** Package of the rules by their letter. */
const packageOfLetter = new Map([
  ['L', 'llm'],
  ['A', 'agent-loop'],
  ['S', 'sessions'],
  ['O', 'sessions (orchestration)'],
  ['B', 'bridge'],
  ['V', 'server'],
  ['C', 'client'],
  ['D', 'demo'],
])

const specifications = join(root, '../shared/spec')
if (!existsSync(specifications)) {
  console.log('The specifications are not beside this checkout, so there is nothing to compare with.')
} else {
  const promised = readAll(globSync('*.md', { cwd: specifications }), specifications).flatMap(rulesInSpecification)
  const { held, skipped } = rulesOfTests()
  report([...new Set(promised)], held)
  for (const [file, rules] of skipped) console.log(`Skipped in ${relative(root, file)}: ${rules.join(' ')}`)
}

function rulesOfTests() {
  if (!existsSync(testReport)) {
    console.log('There is no report of an `npm test`: these are the names in the sources of the tests, whether they are skipped or not.')
    return { held: new Set(readAll(globSync(testPatterns, { cwd: root }), root).flatMap(rulesInTests)), skipped: new Map() }
  }
  const reports = [testReport, e2eReport]
    .filter((file) => existsSync(file))
    .map((file) => rulesOfRun(JSON.parse(readFileSync(file, 'utf8'))))
  return { held: new Set(reports.flatMap(({ held }) => [...held])), skipped: new Map(reports.flatMap(({ skipped }) => [...skipped])) }
}

/**
 * @param {readonly string[]} promised
 * @param {ReadonlySet<string>} held
 */
function report(promised, held) {
  for (const [letter, name] of packageOfLetter) {
    const rules = promised.filter((rule) => rule.startsWith(letter)).sort(compareRules)
    const open = rules.filter((rule) => !held.has(rule))
    console.log(`${name}: ${rules.length - open.length} of ${rules.length} rules are held by a test`)
    if (open.length > 0) console.log(`  open: ${open.join(' ')}`)
  }
  const invented = [...held].filter((rule) => packageOfLetter.has(rule.charAt(0)) && !promised.includes(rule)).sort(compareRules)
  if (invented.length > 0) console.log(`Named by a test, but in no specification: ${invented.join(' ')}`)
}

/**
 * @param {readonly string[]} files
 * @param {string} folder
 */
function readAll(files, folder) {
  return files.map((file) => readFileSync(join(folder, file), 'utf8'))
}
