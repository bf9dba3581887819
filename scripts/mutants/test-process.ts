// Process with one vitest that runs the tests of one part again for each command of its parent.
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { Writable } from 'node:stream'
import { createVitest, type CliOptions, type TestRunResult, type TestSpecification } from 'vitest/node'

export interface TestProcessOptions {
  readonly root: string
  readonly project: string
  /** Paths relative to `root`, in the order in which they run. */
  readonly tests: readonly string[]
}

/** File to change before the tests run. `original` is restored afterwards. */
export interface TestOrder {
  readonly file: string
  readonly text: string
  readonly original: string
}

export interface TestAnswer {
  /** First failed test, or an error outside the tests. */
  readonly noticedBy?: string
  readonly tests: number
  /** Test files, fastest first. */
  readonly quickFirst: readonly string[]
}

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
const { root, project, tests } = JSON.parse(process.argv[2] ?? '{}') as TestProcessOptions

/** Sequencer that keeps the given order and runs one file after the other: most faults are detected by the first. */
class GivenOrder {
  sort(specifications: TestSpecification[]): TestSpecification[] {
    return specifications
  }

  shard(specifications: TestSpecification[]): TestSpecification[] {
    return specifications
  }
}

const limits = { testTimeout: 20_000, hookTimeout: 20_000 }
const oneByOne = { maxWorkers: 1, fileParallelism: false, bail: 1, sequence: { sequencer: GivenOrder } }
const options = { root, project: [project], watch: false, reporters: [{}], ...limits, ...oneByOne }
const vitest = await createVitest(options as CliOptions, {}, { stdout: nowhere, stderr: nowhere })
await vitest.standalone()
const found = await vitest.globTestSpecifications([...tests])
const specifications = tests.flatMap((test) => found.find((one) => pathOf(one) === test) ?? [])

// The programs that tests start are bundled before the first file runs: from sources without a fault, whatever is run later.
await vitest.runTestSpecifications(specifications.slice(0, 1))

process.on('message', (order: TestOrder | 'start') => void answer(order))
process.on('disconnect', () => process.exit())
process.send?.('ready')

function pathOf({ moduleId }: TestSpecification): string {
  return relative(root, moduleId)
}

async function answer(order: TestOrder | 'start'): Promise<void> {
  if (order === 'start') {
    const first = await run()
    specifications.sort((one, other) => first.quickFirst.indexOf(pathOf(one)) - first.quickFirst.indexOf(pathOf(other)))
    return report(first)
  }
  report(await runWith(order))
}

/** Restores the file before it reports: after a failure the parent ends this process at once. */
async function runWith({ file, text, original }: TestOrder): Promise<TestAnswer> {
  try {
    write(file, text)
    return await run()
  } finally {
    write(file, original)
  }
}

function report(answer: TestAnswer): void {
  process.send?.(answer)
}

function write(file: string, text: string): void {
  writeFileSync(file, text)
  vitest.invalidateFile(file)
}

async function run(): Promise<TestAnswer> {
  if (specifications.length !== tests.length)
    return { noticedBy: `${tests.length} test files are wanted, ${specifications.length} found`, tests: 0, quickFirst: tests }
  const result = await vitest.runTestSpecifications(specifications)
  const noticedBy = firstFailure(result)
  const passed = result.testModules.flatMap((module) => [...module.children.allTests('passed')])
  const quickFirst = specifications.toSorted((one, other) => durationOf(one) - durationOf(other)).map(pathOf)
  return { tests: passed.length, quickFirst, ...(noticedBy === undefined ? {} : { noticedBy }) }
}

function durationOf({ testModule }: TestSpecification): number {
  return testModule?.diagnostic().duration ?? 0
}

function firstFailure({ testModules, unhandledErrors }: TestRunResult): string | undefined {
  for (const module of testModules) {
    const [failed] = module.children.allTests('failed')
    if (failed) return failed.fullName
    if (!module.ok()) return `${module.relativeModuleId}, which could not be loaded`
  }
  return unhandledErrors.length > 0 ? 'an unhandled error' : undefined
}
