/** Files with tests: test files, helpers that define tests for several of them, and the kits that packages ship. */
export const testPatterns = [
  'packages/*/test/**/*.{ts,tsx}',
  'packages/testing/src/**/*.ts',
  'apps/*/test/**/*.test.{ts,tsx}',
  '{benchmarks,scripts}/test/**/*.test.ts',
]

/**
 * Returns the rules that a specification defines: their numbers in bold, possibly several per line.
 * @param {string} text
 */
export function rulesInSpecification(text) {
  return [...text.matchAll(/\*\*([A-Z]\d+)\*\*/g)].map((match) => String(match[1]))
}

/**
 * Returns the rules in the names of tests: `it('S41: …')`, `test('S41, S42: …')`, `it.each(…)('S41: …')`. Skipped tests do not
 * count.
 * @param {string} text
 */
export function rulesInTests(text) {
  const names = text.matchAll(/(?<!\.(?:skip|todo)\(\s*)['"`]([A-Z]\d+(?:,?\s+[A-Z]\d+)*):/g)
  return [...names].flatMap((match) => String(match[1]).match(/[A-Z]\d+/g) ?? [])
}

/**
 * Returns the rules that a test run has passed, and by file those that it skipped there. A kit skips tests that an implementation
 * cannot pass, so the names in its sources do not show what a run has tested.
 *
 * @param {{ testResults: ReadonlyArray<{ name: string, assertionResults: ReadonlyArray<{ title: string, status: string }> }> }}
 * report of vitest's reporter `json`
 * @returns {{ held: Set<string>, skipped: Map<string, readonly string[]> }}
 */
export function rulesOfRun({ testResults }) {
  const held = new Set()
  const skipped = new Map()
  for (const { name, assertionResults } of testResults) {
    /** @param {boolean} isPassed */
    const rulesWhere = (isPassed) =>
      new Set(
        assertionResults
          .filter(({ status }) => (status === 'passed') === isPassed && status !== 'failed')
          .flatMap(({ title }) => rulesInTests(`'${title}`)),
      )
    const passed = rulesWhere(true)
    for (const rule of passed) held.add(rule)
    const left = [...rulesWhere(false)].filter((rule) => !passed.has(rule)).sort(compareRules)
    if (left.length > 0) skipped.set(name, left)
  }
  return { held, skipped }
}

/**
 * Compares by letter, then by number.
 * @param {string} left
 * @param {string} right
 */
export function compareRules(left, right) {
  return left.charCodeAt(0) - right.charCodeAt(0) || Number(left.slice(1)) - Number(right.slice(1))
}
