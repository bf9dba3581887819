import { terminalStatuses, type InboxRecord, type RunRecord } from '../../../../src/contract/records.ts'
import { inputKindsThatStart } from '../../../../src/core/rules.ts'
import { isResting } from '../../../../../testing/src/crash-kit/read-end.ts'
import type { SessionEnd } from '../../../../../testing/src/crash-kit/types.ts'
import type { ProgramInvariant } from '../program-end.ts'

const terminal: readonly string[] = terminalStatuses

export const staysBelowItsCeiling: ProgramInvariant = {
  name: 'the work of a program is limited by its size',
  check: ({ ceiling }) => ceiling,
}

export const comesToRest: ProgramInvariant = {
  name: 'the program comes to rest',
  check: ({ stuck }) => (stuck === undefined ? [] : [stuck]),
}

/** Checks that every run has ended. Every named question is answered, so a run that is still open was not named or did not resume. */
export const everyRunEnds: ProgramInvariant = {
  name: 'each run ends after all questions are answered',
  check: ({ sessions }) =>
    sessions.flatMap(({ record, runs }) =>
      runs.filter(({ status }) => !terminal.includes(status)).map((run) => `${record.key}: ${nameOf(run)}`),
    ),
}

function nameOf({ id, kind, status, pendingApprovals, pendingToolCalls, parent }: RunRecord): string {
  const waits = [...pendingApprovals.map(({ approvalId }) => approvalId), ...pendingToolCalls.map(({ toolCallId }) => toolCallId)]
  return `the ${parent?.taskId === undefined ? '' : 'background '}run ${id} (${kind}) has not ended: it is ${status}${waits.length > 0 ? ` and waits for ${waits.join(', ')}` : ''}`
}

export const nothingIsDue: ProgramInvariant = {
  name: 'at rest no work is due',
  check: ({ firstRest: { now, due, sessions } }) => [
    ...due.timers.map(({ id, dueAt }) => `the timer ${id} was due at ${dueAt}, but has not fired at ${now}`),
    ...due.expired.map((key) => `the session ${key} has expired, but is not marked as expired`),
    ...due.unread
      .filter((key) => !sessions.some(({ record, inbox }) => record.key === key && inbox.every((row) => waitsForItsGroup(row, sessions))))
      .map((key) => `the inbox of ${key} has rows that should start a run`),
    ...sessions.flatMap(({ record, calls, runs }) =>
      calls
        .filter(
          ({ state, deadlineAt, runId }) =>
            state !== 'settled' && deadlineAt !== undefined && deadlineAt <= now && !needsRecovery(runs, runId),
        )
        .map(
          ({ runId, name, deadlineAt }) =>
            `${record.key}: the call ${name} of the run ${runId} (${runs.find(({ id }) => id === runId)?.status}) is still open at ${now}, but its deadline was ${deadlineAt}`,
        ),
    ),
    ...sessions.flatMap(({ record, runs }) => (isResting(runs) ? [] : [`${record.key} has runs that are running or due`])),
  ],
}

export const dueIsAsModelled: ProgramInvariant = {
  name: 'the store reports the same due work as a simple model',
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
  return (
    status === 'completed' &&
    sessions.some(({ runs }) =>
      runs.some(
        (run) =>
          run.parent?.runId === group &&
          run.parent.taskId !== undefined &&
          !terminal.includes(run.status) &&
          run.status !== 'needs-recovery',
      ),
    )
  )
}

export const nothingProlongsLives: ProgramInvariant = {
  name: 'a session expires no later than its idle time after its last change',
  check: ({ sessions, writtenAt, program: { setup } }) =>
    sessions.flatMap(({ record: { key, expiredAt, expiresAt = expiredAt } }) => {
      const { idleMs } = setup
      const written = writtenAt.get(key)
      if (idleMs === undefined || written === undefined || expiresAt === undefined || expiresAt <= written + idleMs) return []
      return [`${key} was changed at ${written} and expires at ${expiresAt}, expected ${written + idleMs} or earlier`]
    }),
}

export const nothingIsLeftAlone: ProgramInvariant = {
  name: 'runs of dead processes are claimed in time, and runtimes stop in time',
  check: ({ faults }) => faults,
}

export const clientsAreToldWhy: ProgramInvariant = {
  name: 'clients get only documented errors',
  check: ({ surprises }) => surprises,
}
