/** State of the process after a part of its time, when nothing is under way. */
export interface SoakPart {
  readonly turns: number
  readonly cpuMsPerTurn: number
  /** Heap and external memory after a collection. */
  readonly heldBytes: number
}

export interface SoakFigures {
  readonly parts: readonly SoakPart[]
  readonly turns: number
  readonly completed: number
  readonly sessions: number
  readonly notices: number
  /** Runs of 1,200 in 600 sessions of 100 kB that completed. Absent in a short soak. */
  readonly large?: number
  /** Kinds of handles that were left after everything had stopped. */
  readonly left: readonly string[]
  /** First wrong answers and faults. */
  readonly problems: readonly string[]
}

/** Duration in seconds from which on memory and CPU time are judged: before, caches fill and code is compiled. */
export const longSeconds = 60

const largeRuns = 1_200
/** Growth from the first to the last quarter that is not a leak: caches that are not full yet, and the noise of a busy machine. */
const most = { heldTimes: 1.2, heldBytes: 4 * 2 ** 20, cpuTimes: 1.25 } as const

/** Returns what is wrong with a soak. Empty if all completed and nothing grew. */
export function soakProblems({ parts, turns, completed, large, problems }: SoakFigures): readonly string[] {
  const found = [...problems]
  if (completed !== turns) found.push(`${completed} of ${turns} turns completed`)
  const [first, last] = [parts[0], parts.at(-1)]
  if (large === undefined || !first || !last) return found
  if (large !== largeRuns) found.push(`${large} of ${largeRuns} runs in large conversations completed`)
  const [before, after] = [first.heldBytes, last.heldBytes]
  if (after > before * most.heldTimes + most.heldBytes) found.push(`what is held grew from ${before} to ${after} bytes`)
  if (last.cpuMsPerTurn > first.cpuMsPerTurn * most.cpuTimes)
    found.push(`CPU per turn grew from ${first.cpuMsPerTurn} to ${last.cpuMsPerTurn} ms`)
  return found
}
