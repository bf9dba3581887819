// node scripts/rules.mjs: lists the numbered rules of the specifications that no test names. Informs, never fails.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'
import { compareRules, rulesInSpecification, rulesInTests, testPatterns } from './rule-names.mjs'

/** Which package keeps the rules of a letter. */
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
  const held = new Set(readAll(globSync(testPatterns, { cwd: root }), root).flatMap(rulesInTests))
  report([...new Set(promised)], held)
}

/**
 * @param {readonly string[]} promised
 * @param {ReadonlySet<string>} held
 */
function report(promised, held) {
  for (const [letter, name] of packageOfLetter) {
    const rules = promised.filter((rule) => rule.startsWith(letter)).sort(compareRules)
    const open = rules.filter((rule) => !held.has(rule))
    console.log(`${name}: ${rules.length - open.length} of ${rules.length} rules are named by a test`)
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
