import type { RunRecord } from '../../../contract/records.ts'
import { isResting } from '../read-end.ts'
import type { CrashEnd, Invariant } from '../types.ts'

export const nothingRunsAtRest: Invariant = {
  name: 'no run is running at rest',
  check: ({ sessions }) =>
    sessions.flatMap(({ record, runs }) => {
      if (isResting(runs)) return []
      const moving = runs.filter((run) => run.status === 'running' || run.status === 'queued')
      return [`${record.key}: ${moving.map((run) => `${run.id} is ${run.status}`).join(', ')}`]
    }),
}

export const acceptedInputsAreAnswered: Invariant = {
  name: 'every accepted input has a run that ended or waits',
  check: ({ acknowledged, sessions }) => {
    const runs = new Map(sessions.flatMap((session) => session.runs.map((run) => [run.id, run] as const)))
    return acknowledged.runs.flatMap((runId) => lossOf(runId, runs.get(runId)))
  },
}

/** A queued run is not a fault here: it waits for another run, which is checked itself. */
function lossOf(runId: string, run: RunRecord | undefined): string[] {
  if (!run) return [`${runId} was accepted and is not there`]
  return run.status === 'running' ? [`${runId} neither ended nor waits`] : []
}

export const acceptedAnswersAreKept: Invariant = {
  name: 'an accepted answer is kept until it is used',
  check: (end) =>
    [...end.acknowledged.answers].flatMap(([id, times]) => [
      ...(times > 1 ? [`${id} was accepted ${times} times`] : []),
      ...forgotten(end, id),
    ]),
}

/** Reports calls that still wait although their answer was accepted, and whose answer is not in the inbox. */
function forgotten({ sessions }: CrashEnd, id: string): string[] {
  return sessions.flatMap(({ calls, inbox }) =>
    calls.flatMap((call) => {
      const isAnswer = call.toolCallId === id && call.state !== 'settled' && call.state !== 'pending'
      const isDecision = call.approval?.approvalId === id && call.approval.state === 'requested' && call.state !== 'settled'
      if ((!isAnswer && !isDecision) || inbox.some((row) => row.id.endsWith(`:${id}`))) return []
      return [`the answer to ${id} was accepted and is gone`]
    }),
  )
}

export const lostOwnersWriteNothing: Invariant = {
  name: 'an owner that lost its run writes nothing more',
  check: ({ staleWrites }) => staleWrites,
}
