import { canonicalJson } from '@bowline/agent-loop'
import { emptyView, isDelta, reduceEvents, type AgentEvent } from '@bowline/agent-loop/events'
import type { JSONValue } from '@bowline/llm'
import { standardInvariants } from '../../../../testing/src/crash-kit/invariants.ts'
import { checkHistory } from '../history/check-history.ts'
import type { FollowerEnd, SimulationEnd, SimulationInvariant } from './simulation-end.ts'

/** The invariants of every simulation. If several fail, look at the first. */
export const simulationInvariants: readonly SimulationInvariant[] = [
  {
    name: 'the history agrees with the model of a session',
    check: ({ history, rests }) => checkHistory(history, { atRest: rests }).problems.map(({ text }) => text),
  },
  { name: 'an owner that renews its lease keeps its run', check: ({ leaseProblems }) => leaseProblems },
  { name: 'a tenant has no more concurrent runs than its limit', check: ({ tenantProblems }) => tenantProblems },
  { name: 'a claimable run is claimed in time', check: ({ waitProblems }) => waitProblems },
  { name: 'the simulation comes to rest', check: ({ stuck }) => (stuck === undefined ? [] : [stuck]) },
  { name: 'each client call gets an answer without an unexpected error', check: ({ surprises }) => surprises },
  { name: 'nothing fails in the background', check: ({ faults }) => faults },
  {
    name: 'a client that follows a session reads all stored events, and each message from its beginning',
    check: (end) =>
      end.followers.flatMap((follower, index) =>
        problemsOf(end, follower).map((problem) => `reader-${index + 1} of ${follower.session}: ${problem}`),
      ),
  },
  ...standardInvariants,
]

function problemsOf({ rests, sessions }: SimulationEnd, { session, events, problems }: FollowerEnd): readonly string[] {
  if (problems.length > 0 || !rests) return problems
  const log = sessions.find(({ record }) => record.key === session)?.log ?? []
  const seen = events.filter((event) => !isDelta(event)).map((event) => ('seq' in event ? `${event.seq} ${event.type}` : event.type))
  const stored = log.map(({ seq, type }) => `${seq} ${type}`)
  const place = stored.findIndex((event, index) => event !== seen[index])
  const at = place === -1 ? stored.length : place
  if (place !== -1 || seen.length > stored.length) return [`event ${at + 1} is ${seen[at] ?? 'missing'}, expected ${stored[at] ?? 'none'}`]
  return foldOf(events) === foldOf(log) ? [] : ['the view folded from its events differs from the view folded from the log']
}

function foldOf(events: readonly AgentEvent[]): string {
  return canonicalJson(events.reduce(reduceEvents, emptyView) as unknown as JSONValue)
}
