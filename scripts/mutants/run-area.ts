import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mutantsOf, plant, type Mutant } from './mutations.ts'
import { shuffled } from './shuffled.ts'
import { acceptedByTypes } from './types.ts'
import { TestRunner } from './test-runner.ts'

/** Sources of one safety topic, and the tests that guard them. */
export interface Area {
  readonly name: string
  readonly parts: readonly AreaPart[]
}

export interface AreaPart {
  /** Project of vitest. */
  readonly project: string
  /** Source paths relative to the root. Patterns are allowed. */
  readonly sources: readonly string[]
  /** Test paths relative to the root. */
  readonly tests: readonly string[]
}

/** Fault that changes no observable behaviour, and the reason. */
export interface Equivalent {
  readonly source: string
  readonly kind: Mutant['kind']
  readonly original: string
  /** Part of its line, if other lines have the same fault with an observable effect. */
  readonly line?: string
  readonly reason: string
}

export interface PlacedMutant extends Mutant {
  readonly source: string
  readonly lineText: string
  readonly part: AreaPart
}

export interface AreaResult {
  readonly name: string
  /** Number of possible faults, including those that the types detect. */
  readonly possible: number
  readonly planted: number
  readonly noticed: number
  readonly unnoticed: readonly PlacedMutant[]
}

export interface RunAreaOptions {
  /** Root of the copy of the working tree. */
  readonly root: string
  readonly sampleSize: number
  readonly seed: number
  readonly equivalents: readonly Equivalent[]
  readonly print: (line: string) => void
}

/** Returns every possible fault of the area, without the equivalent ones. */
export function mutantsOfArea({ parts }: Area, root: string, equivalents: readonly Equivalent[]): readonly PlacedMutant[] {
  return parts.flatMap((part) =>
    part.sources.flatMap((pattern) => {
      const files = globSync(pattern, { cwd: root }).sort()
      if (files.length === 0) throw new Error(`No source file fits "${pattern}". Mend the table in scripts/mutants/areas.ts.`)
      return files.flatMap((source) => placedIn(source, part, root).filter((mutant) => !equivalents.some((one) => isSame(one, mutant))))
    }),
  )
}

function placedIn(source: string, part: AreaPart, root: string): readonly PlacedMutant[] {
  const text = readFileSync(join(root, source), 'utf8')
  const lines = text.split('\n')
  return mutantsOf(source, text).map((mutant) => ({ ...mutant, source, part, lineText: lines[mutant.line - 1] ?? '' }))
}

export function isSame({ source, kind, original, line = '' }: Equivalent, mutant: PlacedMutant): boolean {
  return source === mutant.source && kind === mutant.kind && original === mutant.original && mutant.lineText.includes(line)
}

/** Runs the tests with each fault of a sample, and counts the detected ones. Throws if a test fails without a fault. */
export async function runArea(area: Area, options: RunAreaOptions): Promise<AreaResult> {
  const possible = mutantsOfArea(area, options.root, options.equivalents)
  const drawn = drawFrom(possible, options)
  const unnoticed: PlacedMutant[] = []
  for (const part of area.parts) {
    const ofPart = drawn.filter((mutant) => mutant.part === part)
    if (ofPart.length > 0) unnoticed.push(...(await runPart(part, ofPart, options)))
  }
  return { name: area.name, possible: possible.length, planted: drawn.length, noticed: drawn.length - unnoticed.length, unnoticed }
}

/** Draws faults that compile: `npm run typecheck` detects the others. */
function drawFrom(possible: readonly PlacedMutant[], { root, sampleSize, seed }: RunAreaOptions): readonly PlacedMutant[] {
  const inOrder = shuffled(possible, seed)
  const drawn: PlacedMutant[] = []
  // Checks twice the number still needed at a time, because about half of them compile.
  for (let from = 0, size = 2 * sampleSize; drawn.length < sampleSize && from < inOrder.length; from += size) {
    const asked = inOrder.slice(from, from + size)
    const accepted = acceptedByTypes(
      root,
      asked.map((mutant) => ({ source: mutant.source, text: plant(readFileSync(join(root, mutant.source), 'utf8'), mutant) })),
    )
    drawn.push(...asked.filter((_mutant, place) => accepted[place]))
  }
  return drawn.slice(0, sampleSize).sort((one, other) => one.source.localeCompare(other.source) || one.start - other.start)
}

async function runPart(
  { project, tests }: AreaPart,
  mutants: readonly PlacedMutant[],
  options: RunAreaOptions,
): Promise<readonly PlacedMutant[]> {
  const { root, print } = options
  const runner = new TestRunner({ root, project, tests })
  const unnoticed: PlacedMutant[] = []
  try {
    const limitMs = await limitOf(runner, project, print)
    for (const mutant of mutants) {
      const file = join(root, mutant.source)
      const original = readFileSync(file, 'utf8')
      try {
        const answer = await runner.run({ file, text: plant(original, mutant), original }, limitMs)
        const noticedBy = answer === 'hangs' ? 'the time limit' : answer.noticedBy
        if (noticedBy === undefined) unnoticed.push(mutant)
        print(
          `${noticedBy === undefined ? 'UNNOTICED' : 'noticed'} ${describeMutant(mutant)}${noticedBy === undefined ? '' : ` by ${noticedBy}`}`,
        )
      } finally {
        writeFileSync(file, original)
      }
    }
  } finally {
    await runner.close()
  }
  return unnoticed
}

/** Returns the time limit: twice the time of the tests without a fault, which must pass. */
async function limitOf(runner: TestRunner, project: string, print: (line: string) => void): Promise<number> {
  const startedAt = performance.now()
  const answer = await runner.start(600_000)
  const tookMs = performance.now() - startedAt
  if (answer === 'hangs') throw new Error(`The tests of ${project} take more than ten minutes.`)
  if (answer.noticedBy !== undefined) throw new Error(`A test of ${project} fails without a mistake: ${answer.noticedBy}`)
  print(`${project}: ${answer.tests} tests in ${(tookMs / 1000).toFixed(1)} s`)
  return 2 * tookMs + 15_000
}

export function describeMutant({ source, line, kind, original, replacement }: PlacedMutant): string {
  return `${source}:${line} ${kind}: ${short(original)} -> ${short(replacement)}`
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 80 ? `${line.slice(0, 77)}...` : line
}
