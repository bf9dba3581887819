import { emptyView, isSuspended, reduceEvents, statusOf, type Status } from '@bowline/agent-loop/events'
import { terminalStatuses, type RunRecord, type StoredEvent } from '../../../contract/records.ts'
import type { SessionEnd } from '../../crash-kit/types.ts'
import type { ProgramInvariant } from '../program-end.ts'

type ChildEvent = Extract<StoredEvent, { readonly childRunId: string }>

/** The log of a session tells each subagent from its start to its end, whatever becomes of the run that started it. */
export const childrenAreTold: ProgramInvariant = {
  name: 'a log tells each subagent: its start and its end once, its steps in order, and how it stands',
  check: ({ sessions, firstRest, program }) =>
    // A deletion takes runs and logs away, one after the other.
    program.steps.some((step) => step.do === 'delete') ? [] : [...faultsIn(firstRest.sessions), ...faultsIn(sessions)],
}

function faultsIn(sessions: readonly SessionEnd[]): readonly string[] {
  return sessions.flatMap(({ record: { key }, log }) => {
    const view = log.reduce(reduceEvents, emptyView)
    const children = sessions.flatMap(({ runs, log: own }) => runs.filter(({ parent }) => parent?.session === key).map((run) => ({ run, own })))
    return children.flatMap(({ run, own }) => {
      const child = view.children.find(({ childRunId }) => childRunId === run.id)
      const shown = !child || child.status === shownAs(run) ? [] : [`the view of ${key} says that ${run.id} is ${child.status}, and it is ${run.status}`]
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
    ...(count('child-start') === 1 ? [] : [`${run.id} has ${count('child-start')} starts`]),
    ...(isInOrder && steps.length <= happened ? [] : [`${run.id} tells of the steps ${steps.join(', ')}`]),
    ...(count('child-end') === ends ? [] : [`${run.id} is ${run.status} and has ${count('child-end')} ends`]),
    ...(told.at(0)?.type === 'child-start' ? [] : [`${run.id} tells of itself before it has started`]),
  ]
}

/** The child has answered, goes on, or waits. */
function isWorthAnUpdate(event: StoredEvent): boolean {
  return event.type === 'message-end' || (event.type === 'turn-start' && event.resumed) || (event.type === 'turn-end' && isSuspended(event.status))
}

/** As long as it neither waits nor has ended, it is shown as running. */
function shownAs({ status }: RunRecord): Status {
  return status === 'queued' ? 'running' : statusOf(status)
}

function hasEnded({ status }: RunRecord): boolean {
  return terminalStatuses.some((each) => each === status)
}
