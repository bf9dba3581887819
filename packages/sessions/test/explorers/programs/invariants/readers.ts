import { canonicalJson } from '@bowline/agent-loop'
import { emptyView, isDelta, reduceEvents } from '@bowline/agent-loop/events'
import type { AgentEvent } from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'
import { terminalStatuses, type StoredEvent } from '../../../../src/contract/records.ts'
import type { SessionEnd } from '../../../../../testing/src/crash-kit/types.ts'
import type { ProgramEnd, ProgramInvariant } from '../program-end.ts'

type Reader = ProgramEnd['readers'][number]

export const readersSeeTheEnd: ProgramInvariant = {
  name: 'a reader reads all events of the log up to the end',
  check: ({ readers, sessions, program }) =>
    readers.flatMap((reader, index) => {
      const session = sessions.find(({ record }) => record.key === reader.session)
      if (!session || reader.refused !== undefined || session.record.expiredAt !== undefined) return []
      if (program.steps.some((step) => step.do === 'delete' && step.to === reader.session)) return []
      const problems = reader.runId === undefined ? problemsOfReader(reader, session) : problemsOfRunReader(reader, session, reader.runId)
      return problems.map(
        (problem) => `reader ${index + 1} of ${reader.session}${reader.runId === undefined ? '' : ` (${reader.runId})`}: ${problem}`,
      )
    }),
}

function problemsOfReader(reader: Reader, { log }: SessionEnd): readonly string[] {
  const expected = log.filter(({ seq }) => seq > reader.start)
  return [...differences(durable(reader), expected), ...foldsEqually(reader.events, expected)]
}

/** Checks a reader of one run. It may end where the run waits for a client, and at the end of the run. */
function problemsOfRunReader(reader: Reader, { log, runs }: SessionEnd, runId: string): readonly string[] {
  const own = log.filter((event) => 'runId' in event && event.runId === runId && event.type !== 'settled')
  const seen = durable(reader)
  const problems = differences(seen, own.slice(0, seen.length))
  if (problems.length > 0) return problems
  const run = runs.find(({ id }) => id === runId)
  if (!run) return []
  if (reader.endedAt === undefined)
    return terminalStatuses.some((status) => status === run.status)
      ? [`the run ${runId} is ${run.status}, but the reader still waits after ${seen.length} of ${own.length} events`]
      : []
  const missed = own.slice(seen.length).filter(({ seq }) => seq <= (reader.endedAt ?? 0))
  if (missed.length === 0 || asksClient(seen)) return []
  return [`it ended after ${seen.at(-1)?.type ?? 'no event'}, but the log had ${missed.length} more events`]
}

/** Returns true if the last segment ended with a question to a client. */
function asksClient(seen: readonly StoredEvent[]): boolean {
  const view = seen.reduce(reduceEvents, emptyView)
  const end = seen.findLast(({ type }) => type === 'turn-end')
  const waits = end?.type === 'turn-end' && !terminalStatuses.some((status) => status === end.status)
  return waits && (end.status === 'needs-recovery' || view.pendingApprovals.length + view.pendingToolCalls.length > 0)
}

function durable({ events }: Reader): readonly StoredEvent[] {
  return events.flatMap((event) => {
    if (isDelta(event)) return []
    const { cursor: _cursor, ...stored } = event
    return stored as StoredEvent
  })
}

function differences(seen: readonly StoredEvent[], expected: readonly StoredEvent[]): readonly string[] {
  const place = expected.findIndex((event, index) => seen[index]?.seq !== event.seq || seen[index]?.type !== event.type)
  if (place === -1 && seen.length === expected.length) return []
  const at = place === -1 ? expected.length : place
  return [
    `it read ${seen.length} of ${expected.length} events, and event ${at + 1} is ${nameOf(seen[at])}, expected ${nameOf(expected[at])}`,
  ]
}

function nameOf(event: StoredEvent | undefined): string {
  return event ? `${event.seq} ${event.type}` : 'none'
}

function foldsEqually(seen: readonly AgentEvent[], log: readonly StoredEvent[]): readonly string[] {
  const fold = (events: readonly AgentEvent[]): string => canonicalJson(events.reduce(reduceEvents, emptyView) as unknown as JSONValue)
  return fold(seen) === fold(log) ? [] : ['the view folded from its events differs from the view folded from the log']
}
