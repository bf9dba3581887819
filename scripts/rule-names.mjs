/** Files with tests: test files and the helpers that define tests for several of them, and the kits that packages ship. */
export const testPatterns = [
  'packages/*/test/**/*.{ts,tsx}',
  'packages/*/src/testing/**/*.ts',
  'apps/*/test/**/*.test.{ts,tsx}',
  '{benchmarks,scripts}/test/**/*.test.ts',
]

/**
 * The rules that a specification defines: their numbers in bold, several to a line.
 * @param {string} text
 */
export function rulesInSpecification(text) {
  return [...text.matchAll(/\*\*([A-Z]\d+)\*\*/g)].map((match) => String(match[1]))
}

/**
 * The rules that tests hold, by their names: `it('S41: …')`, `test('S41, S42: …')`, `it.each(…)('S41: …')`.
 * A skipped test holds nothing.
 * @param {string} text
 */
export function rulesInTests(text) {
  const names = text.matchAll(/(?<!\.(?:skip|todo)\(\s*)['"`]([A-Z]\d+(?:,?\s+[A-Z]\d+)*):/g)
  return [...names].flatMap((match) => String(match[1]).match(/[A-Z]\d+/g) ?? [])
}

/**
 * The rules that a run of tests has held, and by file those that it has skipped there. A kit skips what a thing under test
 * cannot do, so the names in its sources say nothing about one of its runs.
 *
 * @param {{ testResults: ReadonlyArray<{ name: string, assertionResults: ReadonlyArray<{ title: string, status: string }> }> }} report of vitest's reporter `json`
 * @returns {{ held: Set<string>, skipped: Map<string, readonly string[]> }}
 */
export function rulesOfRun({ testResults }) {
  const held = new Set()
  const skipped = new Map()
  for (const { name, assertionResults } of testResults) {
    /** @param {boolean} isPassed */
    const rulesWhere = (isPassed) => new Set(assertionResults.filter(({ status }) => (status === 'passed') === isPassed && status !== 'failed').flatMap(({ title }) => rulesInTests(`'${title}`)))
    const passed = rulesWhere(true)
    for (const rule of passed) held.add(rule)
    const left = [...rulesWhere(false)].filter((rule) => !passed.has(rule)).sort(compareRules)
    if (left.length > 0) skipped.set(name, left)
  }
  return { held, skipped }
}

/**
 * By letter, then by number.
 * @param {string} left
 * @param {string} right
 */
export function compareRules(left, right) {
  return left.charCodeAt(0) - right.charCodeAt(0) || Number(left.slice(1)) - Number(right.slice(1))
}
