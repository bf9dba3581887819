import { allOf, type Answer, type Prepared, type Seen, type Watch } from './contender.ts'

/** Duration in ms of the warm-up with small work of the same kind. Equal for all contenders. */
export const warmupMs = 300

/** Returns this number of calls, each in its own step, and a last text. */
export function callsThenText(calls: number, call: Answer = { arguments: 1 }): readonly Answer[] {
  return [...Array.from({ length: calls }, () => call), { text: 1 }]
}

/** Runs one turn, and checks that all of it was measured. */
export async function runWhole({ run }: Pick<Prepared, 'run'>, answers: readonly Answer[], watch: Watch = {}): Promise<void> {
  checkSeen(await run(watch), allOf(answers))
}

/**
 * Like `runWhole`, over a network. The turn may begin before its reader is connected, and then the reader gets the first messages
 * whole, without their deltas. So only the results of tools are counted.
 */
export async function runRemote({ run }: Pick<Prepared, 'run'>, answers: readonly Answer[]): Promise<void> {
  const { textDeltas, argumentDeltas, toolResults } = await run({})
  const wanted = allOf(answers)
  checkSeen({ ...wanted, toolResults }, wanted)
  if (textDeltas > wanted.textDeltas || argumentDeltas > wanted.argumentDeltas) throw new Error('A delta arrived twice.')
}

export function checkSeen(seen: Seen, wanted: Seen): void {
  for (const what of Object.keys(wanted) as (keyof Seen)[]) {
    if (seen[what] !== wanted[what]) throw new Error(`${seen[what]} of ${wanted[what]} ${what} arrived`)
  }
}

export async function warmUp(work: () => Promise<void>, forMs = warmupMs): Promise<void> {
  const endsAt = performance.now() + forMs
  do await work()
  while (performance.now() < endsAt)
}

export async function millisecondsOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
