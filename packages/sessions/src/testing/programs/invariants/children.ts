import { emptyView, isEnded, reduceEvents } from '@bowline/agent-loop/events'
import { terminalStatuses, type RunRecord, type StoredEvent } from '../../../store/records.ts'
import type { ProgramInvariant } from '../program-end.ts'

type ChildEvent = Extract<StoredEvent, { readonly childRunId: string }>

/** The log of a session tells each subagent once from its start to its end, whatever becomes of the run that started it. */
export const childrenAreTold: ProgramInvariant = {
  name: 'a log tells each subagent once: its start, each step, and its end when it has ended',
  check: ({ sessions, program }) =>
    // A deletion takes runs and logs away, one after the other.
    program.steps.some((step) => step.do === 'delete')
      ? []
      : sessions.flatMap(({ record: { key }, log }) => {
          const view = log.reduce(reduceEvents, emptyView)
          const runs = sessions.flatMap((session) => session.runs).filter(({ parent }) => parent?.session === key)
          return runs.flatMap((run) => {
            const child = view.children.find(({ childRunId }) => childRunId === run.id)
            const shown = !child || isEnded(child.status) === hasEnded(run) ? [] : [`the view of ${key} says that ${run.id} is ${child.status}, and it is ${run.status}`]
            return [...faultsOf(run, log.filter((event) => 'childRunId' in event && event.childRunId === run.id) as ChildEvent[]), ...shown]
          })
        }),
}

function faultsOf(run: RunRecord, told: readonly ChildEvent[]): readonly string[] {
  const count = (type: ChildEvent['type']): number => told.filter((event) => event.type === type).length
  const steps = told.flatMap((event) => (event.type === 'child-update' ? event.step : []))
  const ends = hasEnded(run) ? 1 : 0
  return [
    ...(count('child-start') === 1 ? [] : [`${run.id} has ${count('child-start')} starts`]),
    ...(new Set(steps).size === steps.length ? [] : [`${run.id} tells of the steps ${steps.join(', ')}`]),
    ...(count('child-end') === ends ? [] : [`${run.id} is ${run.status} and has ${count('child-end')} ends`]),
    ...(told.at(0)?.type === 'child-start' ? [] : [`${run.id} tells of itself before it has started`]),
  ]
}

function hasEnded({ status }: RunRecord): boolean {
  return terminalStatuses.some((each) => each === status)
}
