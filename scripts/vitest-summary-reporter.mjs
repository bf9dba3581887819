import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { costsOf, overCost, tellCosts } from './test-costs.mjs'
import { root } from './setup.mjs'

const longestMs = 20_000

/**
 * Prints `N passed, N failed, N skipped` at the end of a run, which scripts and CI read. Before it, prints notes, which gates show
 * even if they pass: the slowest files, and tests that take too long. Such tests do not fail, because the machine may be busy.
 */
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
      // A file that could not be loaded, or whose hooks failed, counts as failed even without a failed test.
      if (!module.ok() && !tests.some((test) => test.result().state === 'failed')) counts.failed += 1
    }
    const costs = costsOf(modules)
    const ceilings = JSON.parse(readFileSync(join(root, 'structure.ceilings.json'), 'utf8'))
    const over = overCost(costs, ceilings)
    for (const problem of over) console.error(problem)
    counts.failed += over.length
    if (over.length > 0) process.exitCode = 1
    const notes = [...tellCosts(costs, ceilings), ...notesOf(modules)].map((note) => `note: ${note}\n`)
    // On exit, because the coverage table is printed after the reporters are done.
    process.once('exit', () => {
      process.stdout.write(`${notes.join('')}${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
    })
  }
}

/**
 * Returns notes about slow tests: the ten slowest of more than ten files, and tests that exceed the limit.
 *
 * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
 */
export function notesOf(modules) {
  return [...slowFiles(modules), ...slowTests(modules)]
}

/** @param {ReadonlyArray<import('vitest/node').TestModule>} modules */
function slowFiles(modules) {
  if (modules.length <= 10) return []
  const timed = modules.map((module) => {
    const { duration, collectDuration, setupDuration } = module.diagnostic()
    return { name: nameOf(module), ms: duration + collectDuration + setupDuration, importMs: collectDuration }
  })
  const slowest = timed.sort((left, right) => right.ms - left.ms).slice(0, 10)
  return slowest.map(({ name, ms, importMs }) => `${seconds(ms)} in ${name} (${seconds(importMs)} to import it)`)
}

/** @param {ReadonlyArray<import('vitest/node').TestModule>} modules */
function slowTests(modules) {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  return tests.flatMap((test) => {
    const ms = test.diagnostic()?.duration ?? 0
    return ms > longestMs ? [`${seconds(ms)} is over the ${seconds(longestMs)} of a test: ${nameOf(test.module)} > ${test.fullName}`] : []
  })
}

/** @param {import('vitest/node').TestModule} module */
function nameOf(module) {
  return relative(process.cwd(), module.moduleId)
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}

/**
 * @param {import('vitest/node').TestResult['state']} state
 * @returns {'passed' | 'failed' | 'skipped'}
 */
function countOf(state) {
  // A test that never finished has not passed.
  return state === 'pending' ? 'failed' : state
}
