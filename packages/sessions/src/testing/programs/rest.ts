import { isAtRest } from '../crash-kit/read-end.ts'
import type { Clients } from './client.ts'
import { OrphanedRuns } from './orphaned-runs.ts'
import type { Stage } from './stage.ts'

const mostRounds = 400
const soonMs = 500
/** Then what still runs waits for something that takes its time. */
const shortRounds = 20
const longMs = 5_000
/** Longer than a runtime needs to find what it was not told of. */
const sweepMs = 31_000
const pollMs = 1_100
const mostAnswers = 40

/** Lets time pass until nothing happens any more by itself. False: something always does. */
export async function runToRest(stage: Stage, clients: Clients): Promise<boolean> {
  await stage.settle()
  const orphans = new OrphanedRuns(stage)
  for (let round = 0; round < mostRounds && !stage.ceiling.isReached; round++) {
    const { nextAt } = await stage.store.due(0)
    if (nextAt === null && !clients.isWaiting && !stage.isHeldUp && (await isAtRest(stage.store)) && (await staysAtRest(stage))) return true
    await stage.pass(nextAt === null ? (round < shortRounds ? soonMs : longMs) : Math.max(soonMs, Math.min(nextAt - stage.time.now, sweepMs)))
    await orphans.look()
    // A lost run waits for its takeover between these rounds, and between no two steps.
    await stage.dueModel.compare(stage.store, stage.time.now)
  }
  return false
}

/** Nothing is written any more, whatever a runtime looks for by itself. */
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

/** A process that was struck may have had the answer in its hands. */
function doneSoFar({ ceiling, gate }: Stage): string {
  return `${ceiling.counts.commits} ${ceiling.counts.claims} ${gate.strikes}`
}
