import type { RunRecord } from '@bowline/sessions'
import { isResting } from '../read-end.ts'
import type { CrashEnd, Invariant } from '../types.ts'

export const nothingRunsAtRest: Invariant = {
  name: 'at rest no run is running or due',
  check: ({ sessions }) =>
    sessions.flatMap(({ record, runs }) => {
      if (isResting(runs)) return []
      const moving = runs.filter((run) => run.status === 'running' || run.status === 'queued')
      return [`${record.key}: the session is not at rest: ${moving.map((run) => `${run.id} is ${run.status}`).join(', ')}`]
    }),
}

export const acceptedInputsAreAnswered: Invariant = {
  name: 'each accepted input has a run that has ended or waits',
  check: ({ acknowledged, sessions }) => {
    const runs = new Map(sessions.flatMap((session) => session.runs.map((run) => [run.id, run] as const)))
    return acknowledged.runs.flatMap((runId) => lossOf(runId, runs.get(runId)))
  },
}

/** A queued run is not a fault here: it waits for another run, which is checked itself. */
function lossOf(runId: string, run: RunRecord | undefined): string[] {
  if (!run) return [`the run ${runId} was accepted, but is not stored`]
  return run.status === 'running' ? [`the run ${runId} was accepted, but is still running`] : []
}

export const acceptedAnswersAreKept: Invariant = {
  name: 'an accepted answer is kept until it is used',
  check: (end) =>
    [...end.acknowledged.answers].flatMap(([id, times]) => [
      ...(times > 1 ? [`the answer to ${id} was accepted as new ${times} times, expected 1`] : []),
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
      return [`the answer to ${id} was accepted, but the call still waits and the inbox has no such answer`]
    }),
  )
}

export const lostOwnersWriteNothing: Invariant = {
  name: 'a process that lost a run writes nothing more for it',
  check: ({ staleWrites }) => staleWrites,
}
