import { terminalStatuses, type InboxRecord, type RunRecord } from '../../../contract/records.ts'
import { inputKindsThatStart } from '../../../stores/rules.ts'
import { isResting } from '../../crash-kit/read-end.ts'
import type { SessionEnd } from '../../crash-kit/types.ts'
import type { ProgramInvariant } from '../program-end.ts'

const terminal: readonly string[] = terminalStatuses

export const staysBelowItsCeiling: ProgramInvariant = {
  name: 'what a program makes is bounded by its size',
  check: ({ ceiling }) => ceiling,
}

export const comesToRest: ProgramInvariant = {
  name: 'a program comes to rest',
  check: ({ stuck }) => (stuck === undefined ? [] : [stuck]),
}

/** Checks that every run has ended. Every named question is answered, so a run that is still open was not named or did not resume. */
export const everyRunEnds: ProgramInvariant = {
  name: 'a run ends when all that is asked is answered',
  check: ({ sessions }) =>
    sessions.flatMap(({ record, runs }) => runs.filter(({ status }) => !terminal.includes(status)).map((run) => `${record.key}: ${nameOf(run)}`)),
}

function nameOf({ id, kind, status, pendingApprovals, pendingToolCalls, parent }: RunRecord): string {
  const waits = [...pendingApprovals.map(({ approvalId }) => approvalId), ...pendingToolCalls.map(({ toolCallId }) => toolCallId)]
  return `${id} (${kind}${parent?.taskId === undefined ? '' : ', in the background'}) is ${status}${waits.length > 0 ? ` for ${waits.join(', ')}` : ''}`
}

export const nothingIsDue: ProgramInvariant = {
  name: 'nothing is due at rest',
  check: ({ firstRest: { now, due, sessions } }) => [
    ...due.timers.map(({ id, dueAt }) => `the timer ${id} was due at ${dueAt}, and it is ${now}`),
    ...due.expired.map((key) => `${key} has expired, and nobody has marked it`),
    ...due.unread.filter((key) => !sessions.some(({ record, inbox }) => record.key === key && inbox.every((row) => waitsForItsGroup(row, sessions)))).map((key) => `in the inbox of ${key} waits what starts a run`),
    ...sessions.flatMap(({ record, calls, runs }) =>
      calls
        .filter(({ state, deadlineAt, runId }) => state !== 'settled' && deadlineAt !== undefined && deadlineAt <= now && !needsRecovery(runs, runId))
        .map(({ runId, name, deadlineAt }) => `${record.key}: ${name} of ${runId} (${runs.find(({ id }) => id === runId)?.status}) is open, and its deadline was ${deadlineAt}; it is ${now}`),
    ),
    ...sessions.flatMap(({ record, runs }) => (isResting(runs) ? [] : [`${record.key} is not at rest`])),
  ],
}

export const dueIsAsModelled: ProgramInvariant = {
  name: 'a store says what is due as a plain model does',
  check: ({ dueProblems }) => dueProblems.slice(0, 3),
}

/** Returns true if the run is held. Its deadline is handled when the run resumes. */
function needsRecovery(runs: readonly RunRecord[], runId: string): boolean {
  return runs.some(({ id, status }) => id === runId && status === 'needs-recovery')
}

/** Returns true if the row may wait. The success of a background task is reported after its whole group has settled. */
function waitsForItsGroup(row: InboxRecord, sessions: readonly SessionEnd[]): boolean {
  if (row.kind !== 'child-settled') return !inputKindsThatStart.includes(row.kind)
  const { group, status } = row.body
  return status === 'completed' && sessions.some(({ runs }) => runs.some((run) => run.parent?.runId === group && run.parent.taskId !== undefined && !terminal.includes(run.status) && run.status !== 'needs-recovery'))
}

export const nothingProlongsLives: ProgramInvariant = {
  name: 'a session lives no longer than was said after its last change',
  check: ({ sessions, writtenAt, program: { setup } }) =>
    sessions.flatMap(({ record: { key, expiredAt, expiresAt = expiredAt } }) => {
      const { idleMs } = setup
      const written = writtenAt.get(key)
      if (idleMs === undefined || written === undefined || expiresAt === undefined || expiresAt <= written + idleMs) return []
      return [`${key} was changed at ${written} and expires at ${expiresAt}, ${expiresAt - written - idleMs} ms too late`]
    }),
}

export const nothingIsLeftAlone: ProgramInvariant = {
  name: 'a run whose process is gone is taken over, and a runtime stops, in time',
  check: ({ faults }) => faults,
}

export const clientsAreToldWhy: ProgramInvariant = {
  name: 'clients hear only what is documented',
  check: ({ surprises }) => surprises,
}
