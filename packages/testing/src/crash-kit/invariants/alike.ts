import type { CrashEnd, Invariant, SessionEnd } from '../types.ts'

/**
 * Compares the end with that of the undisturbed run. Ids and times may differ. A client whose call failed comes later, so its input
 * may become a run of its own, and its stop may find the run completed.
 */
export const endsAlike: Invariant = {
  name: 'all ends as without the fault',
  check(end) {
    const { undisturbed } = end
    if (!undisturbed) return []
    const pairs = undisturbed.sessions.map((should, place) => [should, end.sessions[place]] as const)
    const problems = pairs.flatMap(([should, is]) => {
      return is ? [...runsOf(should, is), ...callsOf(should, is)] : [`${should.record.key} is missing`]
    })
    return [...problems, ...paidAgain(end, undisturbed)]
  },
}

/** Other runs need other model calls. */
function paidAgain(is: CrashEnd, should: CrashEnd): readonly string[] {
  const { modelCalls: wanted = 0 } = should
  const { modelCalls: asked = wanted } = is
  if (asked <= wanted || namesOfRuns(is) !== namesOfRuns(should)) return []
  return [`the model was asked ${asked} times, without the fault ${wanted} times`]
}

function namesOfRuns({ sessions }: CrashEnd): string {
  return sessions
    .flatMap(({ runs }) => runs.map(({ inputId, kind, status }) => `${inputId ?? kind} ${status}`))
    .sort()
    .join()
}

/** Runs are compared by the id of their input. */
function runsOf(should: SessionEnd, is: SessionEnd): readonly string[] {
  return should.runs.flatMap(({ inputId, kind, ...wanted }) => {
    if (inputId === undefined && kind !== 'child') return []
    const found = is.runs.find((run) => run.inputId === inputId && run.kind === kind)
    const isLate = wanted.status === 'aborted' && found?.status === 'completed'
    if (isLate || (found?.status === wanted.status && found.reason === wanted.reason)) return []
    const name = inputId === undefined ? `the ${kind} run` : `the run of the input ${inputId}`
    return [`${should.record.key}: ${name} is ${found ? printEnd(found) : 'missing'}, without the fault ${printEnd(wanted)}`]
  })
}

function printEnd({ status, reason }: Pick<SessionEnd['runs'][number], 'status' | 'reason'>): string {
  return reason === undefined ? status : `${status} (${reason})`
}

/** A call that a stop met may end in other ways, but its outcome is as well known. */
function callsOf(should: SessionEnd, is: SessionEnd): readonly string[] {
  const isStopped = should.runs.some(({ status }) => status === 'aborted')
  return should.calls.flatMap(({ toolCallId, name, status: wanted }) => {
    const found = is.calls.find((call) => call.toolCallId === toolCallId)?.status
    const isAlike = found === wanted || (isStopped && found !== 'unknown')
    if (isAlike) return []
    return [`${should.record.key}: the call of ${name} is ${found ?? 'missing or open'}, without the fault ${wanted ?? 'open'}`]
  })
}
