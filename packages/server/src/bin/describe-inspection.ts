import type { Inspection, InspectedCall, InspectedRun, OpenWork, RunInfo, ScheduleInfo } from '@bowline/sessions'

/** Returns the output of `bowline-server log` for people, one fact per line. */
export function describeInspection({ at, session, committed, open }: Inspection): readonly string[] {
  const { events, runs, turns, version, branches } = committed
  const entries = branches.map((branch) => branch.entries).join(' + ') || '0'
  return [
    `session    ${session.key}: ${session.expiredAt === undefined ? (session.status ?? 'no run yet') : `expired at ${timeOf(session.expiredAt)}`}, agent ${session.agent}, at ${timeOf(at)}`,
    `committed  ${version} commits, ${turns} turns, ${runs.accepted} runs, events ${events.first} to ${events.last}, entries ${entries}`,
    ...runs.ended.map((run) => `  ${endedRun(run)}`),
    ...(isEmpty(open) ? ['open       nothing'] : ['open', ...indented(describeOpen(open))]),
  ]
}

function isEmpty({ runs, inbox, deadlines, schedules }: OpenWork): boolean {
  return [runs, inbox, deadlines, schedules].every((list) => list.length === 0)
}

function endedRun({ runId, status, outcome, endedAt, error }: RunInfo): string {
  const why = error === undefined ? '' : `: ${error.message}`
  return `run ${runId} ${status} (${outcome ?? status})${endedAt === undefined ? '' : ` at ${timeOf(endedAt)}`}${why}`
}

function describeOpen({ runs, inbox, deadlines, schedules }: OpenWork): readonly string[] {
  return [
    ...runs.flatMap(describeRun),
    ...inbox.map(
      ({ id, kind, at, runId }) => `inbox ${id} (${kind}) since ${timeOf(at)}${runId === undefined ? '' : `, for run ${runId}`}`,
    ),
    ...deadlines.map(({ runId, dueAt }) => `deadline of run ${runId} at ${timeOf(dueAt)}`),
    ...schedules.map((schedule) => `schedule ${schedule.id} ${describeSchedule(schedule)}`),
  ]
}

function describeRun(run: InspectedRun): readonly string[] {
  const { runId, session, status, turn, step, epoch, holder, calls, settledBefore, children, next, parent } = run
  const place = turn === undefined ? 'not begun' : `turn ${turn}, step ${step}`
  const where = parent === undefined ? '' : ` in ${session}`
  return [
    `run ${runId}${where} ${status}: ${place}, claimed ${epoch} times`,
    ...indented([
      ...(holder ? [`held by ${holder.owner} until ${timeOf(holder.leaseUntil)}${holder.isOver ? ' (over)' : ''}`] : []),
      next,
      ...(settledBefore > 0 ? [`${settledBefore} calls of earlier steps are settled`] : []),
      ...calls.flatMap(describeCall),
      ...children.flatMap(describeRun),
    ]),
  ]
}

function describeCall({ toolCallId, name, effect, state, attempt, next }: InspectedCall): readonly string[] {
  return [`call ${toolCallId} ${name} (${effect}) ${state}, attempt ${attempt}`, ...indented([next])]
}

function describeSchedule({ status, nextAt }: ScheduleInfo): string {
  return nextAt === null ? status : `${status}, next at ${timeOf(nextAt)}`
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`)
}

function timeOf(at: number): string {
  return new Date(at).toISOString()
}
