import type { CrashEnd, Invariant, SessionEnd } from '../types.ts'

/**
 * Compares the end with that of the undisturbed run. Ids and times may differ, and so may the order in which runs and inputs met.
 */
export const endsAlike: Invariant = {
  name: 'all ends as without the fault',
  check(end) {
    const { undisturbed } = end
    if (!undisturbed) return []
    const pairs = undisturbed.sessions.map((should, place) => [should, end.sessions[place]] as const)
    const { modelCalls: asked = 0 } = end
    const { modelCalls: wanted = asked } = undisturbed
    const paid = asked > wanted ? [`the model was asked ${asked} times, without the fault ${wanted} times`] : []
    return [...pairs.flatMap(([should, is]) => (is ? [...runsOf(should, is), ...callsOf(should, is)] : [`${should.record.key} is missing`])), ...paid]
  },
}

/** Runs are compared by the id of their input. */
function runsOf(should: SessionEnd, is: SessionEnd): readonly string[] {
  return should.runs.flatMap(({ inputId, kind, ...wanted }) => {
    if (inputId === undefined && kind !== 'child') return []
    const found = is.runs.find((run) => run.inputId === inputId && run.kind === kind)
    if (found?.status === wanted.status && found.reason === wanted.reason) return []
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
    return isAlike ? [] : [`${should.record.key}: the call of ${name} is ${found ?? 'missing or open'}, without the fault ${wanted ?? 'open'}`]
  })
}
