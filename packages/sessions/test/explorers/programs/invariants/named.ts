import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import { openQuestions, type OpenQuestions } from '../../../../src/contract/answers.ts'
import { isWaiting } from '../../../../src/contract/run-status.ts'
import type { RunRecord } from '../../../../src/contract/records.ts'
import type { SessionEnd } from '../../../../../testing/src/crash-kit/types.ts'
import type { ProgramInvariant } from '../program-end.ts'

interface Waiting {
  /** Ids of calls and approvals that wait for an answer. */
  readonly open: readonly string[]
  /** Ids with an answer that the run has not taken yet. The log may still name them. */
  readonly answered: readonly string[]
  /** Questions of a held run, or of a run below a held one. They may be named. */
  readonly optional: readonly string[]
  /** Id of the run if it is held because of its definition. */
  readonly held: readonly string[]
}

export const whatWaitsIsNamed: ProgramInvariant = {
  name: 'at rest the log and the info of a session name all open calls, approvals and held runs, and no others',
  check: ({ firstRest: { sessions, infos } }) =>
    sessions.flatMap((root) => {
      const { key, parent, expiredAt } = root.record
      if (parent !== undefined || expiredAt !== undefined) return []
      const below = sessions.filter(({ record }) => record.key === key || record.key.startsWith(`${key}~`))
      const runs = below.flatMap((session) => session.runs)
      const waiting = (isMeant: (run: RunRecord) => boolean) =>
        below.flatMap((session) => session.runs.filter(isMeant).map((run) => waitingOf(run, session, runs)))
      const { openRun } = infos.get(key) ?? {}
      const namedInInfo = openRun
        ? { questions: idsOf(openRun), held: [openRun.runId, ...(openRun.heldRuns ?? []).map(({ runId }) => runId)] }
        : { questions: [], held: [] }
      return [
        ...differences(
          `the log of ${key}`,
          namedInLog(root),
          waiting(() => true),
          ({ answered, optional }) => [...answered, ...optional],
        ),
        ...(infos.has(key)
          ? differences(
              `the info of ${key}`,
              namedInInfo,
              waiting((run) => isAwaited(run, runs)),
              ({ optional }) => optional,
            )
          : []),
      ]
    }),
}

/** Returns the differences. A held run may still be named after it was resumed, so only a missing name is an error. */
function differences(
  where: string,
  named: { readonly questions: readonly string[]; readonly held: readonly string[] },
  waiting: readonly Waiting[],
  mayName: (run: Waiting) => readonly string[],
): readonly string[] {
  const open = waiting.flatMap((each) => each.open)
  const known = [...open, ...waiting.flatMap(mayName)]
  return [
    ...open.filter((id) => !named.questions.includes(id)).map((id) => `${where} does not name ${id}, which waits for an answer`),
    ...named.questions.filter((id) => !known.includes(id)).map((id) => `${where} names ${id}, which does not wait for an answer`),
    ...waiting
      .flatMap(({ held }) => held.filter((id) => !named.held.includes(id)))
      .map((id) => `${where} does not name the held run ${id}`),
  ]
}

function waitingOf(run: RunRecord, { calls, inbox }: SessionEnd, runs: readonly RunRecord[]): Waiting {
  if (!isWaiting(run.status)) return { open: [], answered: [], optional: [], held: [] }
  const isOwn = ({ path }: { readonly path: readonly string[] }): boolean => path.length === 0
  const own = idsOf({ pendingToolCalls: run.pendingToolCalls.filter(isOwn), pendingApprovals: run.pendingApprovals.filter(isOwn) })
  if (run.reason === 'definition-changed') {
    // A run that is held in the middle of its work may have asked more than its record lists.
    const asked = calls.flatMap(({ runId, toolCallId, approval }) =>
      runId === run.id ? [toolCallId, ...(approval ? [approval.approvalId] : [])] : [],
    )
    return { open: [], answered: [], optional: [...own, ...asked], held: [run.id] }
  }
  if (isBelowHeld(run, runs)) return { open: [], answered: [], optional: own, held: [] }
  const left = idsOf(openQuestions(run, inbox))
  return { open: own.filter((id) => left.includes(id)), answered: own.filter((id) => !left.includes(id)), optional: [], held: [] }
}

function idsOf({ pendingToolCalls, pendingApprovals }: OpenQuestions): readonly string[] {
  return [...pendingToolCalls.map(({ toolCallId }) => toolCallId), ...pendingApprovals.map(({ approvalId }) => approvalId)]
}

/** Returns true if a run above is held. That run announces the question when it resumes. */
function isBelowHeld({ parent }: RunRecord, runs: readonly RunRecord[]): boolean {
  const above = parent && runs.find(({ id }) => id === parent.runId)
  return above !== undefined && ((above.status === 'needs-recovery' && above.reason === 'definition-changed') || isBelowHeld(above, runs))
}

/** Returns true if the root waits for the run, because no run between the two is in the background. */
function isAwaited({ origin, parent }: RunRecord, runs: readonly RunRecord[]): boolean {
  if (origin !== undefined || parent?.taskId !== undefined) return false
  const above = parent && runs.find(({ id }) => id === parent.runId)
  return !parent || (above !== undefined && isAwaited(above, runs))
}

/**
 * Returns the questions and held runs that the log names. Adds unknown outcomes and held runs of the root from its records,
 * because `info` names those, not the log.
 */
function namedInLog({ log, runs }: SessionEnd) {
  const held = log.flatMap((event) => (event.type === 'error' && event.source === 'definition' ? [event.runId] : []))
  const doubts = runs.flatMap((run) => (run.status === 'needs-recovery' ? run.pendingToolCalls.map(({ toolCallId }) => toolCallId) : []))
  return {
    questions: [...idsOf(log.reduce(reduceEvents, emptyView)), ...doubts],
    held: [...held, ...runs.flatMap(({ id, status }) => (status === 'needs-recovery' ? id : []))],
  }
}
