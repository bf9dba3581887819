import { emptyView, isSuspended, reduceEvents, statusOf, type Status } from '@bowline/agent-loop/events'
import { terminalStatuses, type RunRecord, type StoredEvent } from '../../../../src/contract/records.ts'
import type { SessionEnd } from '../../../../../testing/src/crash-kit/types.ts'
import type { ProgramInvariant } from '../program-end.ts'

type ChildEvent = Extract<StoredEvent, { readonly childRunId: string }>

/** Checks that the log of a session shows each subagent from its start to its end, even if the run that started it has ended. */
export const childrenAreTold: ProgramInvariant = {
  name: 'the log of a session has the start, the steps, the end and the status of each subagent run',
  check: ({ sessions, firstRest, program }) =>
    // Skipped for deletions, which delete runs and logs one after the other.
    program.steps.some((step) => step.do === 'delete') ? [] : [...faultsIn(firstRest.sessions), ...faultsIn(sessions)],
}

function faultsIn(sessions: readonly SessionEnd[]): readonly string[] {
  return sessions.flatMap(({ record: { key }, log }) => {
    const view = log.reduce(reduceEvents, emptyView)
    const children = sessions.flatMap(({ runs, log: own }) =>
      runs.filter(({ parent }) => parent?.session === key).map((run) => ({ run, own })),
    )
    return children.flatMap(({ run, own }) => {
      const child = view.children.find(({ childRunId }) => childRunId === run.id)
      const shown =
        !child || child.status === shownAs(run)
          ? []
          : [`the view of ${key} shows the subagent run ${run.id} as ${child.status}, but it is ${run.status}`]
      return [...faultsOf(run, log.filter((event) => 'childRunId' in event && event.childRunId === run.id) as ChildEvent[], own), ...shown]
    })
  })
}

function faultsOf(run: RunRecord, told: readonly ChildEvent[], own: readonly StoredEvent[]): readonly string[] {
  const count = (type: ChildEvent['type']): number => told.filter((event) => event.type === type).length
  const steps = told.flatMap((event) => (event.type === 'child-update' ? event.step : []))
  const isInOrder = steps.every((step, index) => step >= (steps[index - 1] ?? 0))
  const happened = own.filter((event) => 'runId' in event && event.runId === run.id && isWorthAnUpdate(event)).length
  const ends = hasEnded(run) ? 1 : 0
  return [
    ...(count('child-start') === 1 ? [] : [`the subagent run ${run.id} has ${count('child-start')} child-start events, expected 1`]),
    ...(isInOrder ? [] : [`the child-update events of the subagent run ${run.id} are out of order: steps ${steps.join(', ')}`]),
    ...(isInOrder && steps.length > happened
      ? [`the subagent run ${run.id} has ${steps.length} child-update events, expected at most ${happened}`]
      : []),
    ...(count('child-end') === ends
      ? []
      : [`the subagent run ${run.id} is ${run.status} and has ${count('child-end')} child-end events, expected ${ends}`]),
    ...(told.at(0)?.type === 'child-start'
      ? []
      : [`the first event of the subagent run ${run.id} is ${told.at(0)?.type ?? 'missing'}, expected child-start`]),
  ]
}

/** Returns true if the child has answered, resumes or waits. */
function isWorthAnUpdate(event: StoredEvent): boolean {
  return (
    event.type === 'message-end' ||
    (event.type === 'turn-start' && event.resumed) ||
    (event.type === 'turn-end' && isSuspended(event.status))
  )
}

/** Returns the status that the view shows. A queued child is shown as running. */
function shownAs({ status }: RunRecord): Status {
  return status === 'queued' ? 'running' : statusOf(status)
}

function hasEnded({ status }: RunRecord): boolean {
  return terminalStatuses.some((each) => each === status)
}
