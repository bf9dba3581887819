import { isAtRest } from '../../../../testing/src/crash-kit/read-end.ts'
import type { Clients } from './client.ts'
import { OrphanedRuns } from './orphaned-runs.ts'
import type { Stage } from './stage.ts'

const mostRounds = 400
const soonMs = 500
/** Number of rounds with short waits. Runs that are open after them wait for something slow. */
const shortRounds = 20
const longMs = 5_000
/** Longer than the interval of sweeps, which find work without a hint. */
const sweepMs = 31_000
const pollMs = 1_100
const mostAnswers = 40

/** Lets time pass until all work that needs no client is done. Returns false if it does not end. */
export async function runToRest(stage: Stage, clients: Clients): Promise<boolean> {
  await stage.settle()
  const orphans = new OrphanedRuns(stage)
  for (let round = 0; round < mostRounds && !stage.ceiling.isReached; round++) {
    const { nextAt } = await stage.store.due(0)
    if (nextAt === null && !clients.isWaiting && !stage.isHeldUp && (await isAtRest(stage.store)) && (await staysAtRest(stage))) return true
    await stage.pass(
      nextAt === null ? (round < shortRounds ? soonMs : longMs) : Math.max(soonMs, Math.min(nextAt - stage.time.now, sweepMs)),
    )
    await orphans.look()
    // Compared here too, because a lost run waits for its takeover only between these rounds.
    await stage.dueModel.compare(stage.store, stage.time.now)
  }
  return false
}

/** Returns true if nothing is written any more, even after a poll and a sweep. */
async function staysAtRest(stage: Stage): Promise<boolean> {
  const before = doneSoFar(stage)
  await stage.pass(pollMs)
  void stage.current.runtime.sweep().catch(() => undefined)
  await stage.pass(pollMs)
  return before === doneSoFar(stage)
}

/** Answers all questions until none is left. Returns false if they do not end. */
export async function answerAll(stage: Stage, clients: Clients): Promise<boolean> {
  for (let times = 0; times < mostAnswers; times++) {
    const before = doneSoFar(stage)
    const wasAway = stage.gate.isAway
    for (const to of ['a', 'b'] as const) {
      await clients.perform({ do: 'answer', to, how: 'yes' })
    }
    if (!(await runToRest(stage, clients))) return false
    if (before === doneSoFar(stage) && !wasAway) return true
  }
  return false
}

/** Identifies the progress so far. Includes disturbances, because a disturbed process may have lost an answer. */
function doneSoFar({ ceiling, gate }: Stage): string {
  return `${ceiling.counts.commits} ${ceiling.counts.claims} ${gate.strikes}`
}
