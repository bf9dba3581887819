/** Ends a run with `N passed, N failed, N skipped`, the line that scripts and CI read. */
export default class SummaryReporter {
  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      for (const test of tests) counts[countOf(test.result().state)] += 1
      // A file that could not be loaded, or whose hooks failed, has failed even without a failed test.
      if (!module.ok() && !tests.some((test) => test.result().state === 'failed')) counts.failed += 1
    }
    // On exit, because the coverage table is printed after the reporters are done.
    process.once('exit', () => {
      process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
    })
  }
}

/**
 * @param {import('vitest/node').TestResult['state']} state
 * @returns {'passed' | 'failed' | 'skipped'}
 */
function countOf(state) {
  // A test that never finished has not passed.
  return state === 'pending' ? 'failed' : state
}
