import { canonicalJson } from '@bowline/agent-loop'
import { commitsOf, emptyView, reduceEvents } from '@bowline/agent-loop/events'
import { checkEvents } from '../../loop/check-events.ts'
import type { JSONValue } from '@bowline/llm'
import { terminalStatuses } from '@bowline/sessions/internal'
import type { Invariant, SessionEnd } from '../types.ts'

function isTerminal(status: unknown): boolean {
  return terminalStatuses.some((each) => each === status)
}

/** Checks each session and puts its key before each problem. */
function inEach(check: (session: SessionEnd) => readonly string[]): Invariant['check'] {
  const named = (session: SessionEnd): string[] => check(session).map((problem) => `${session.record.key}: ${problem}`)
  return ({ sessions }) => sessions.flatMap(named)
}

export const logHasNoGaps: Invariant = {
  name: 'the events of a log are numbered without gaps',
  check: inEach(({ log, record }) => {
    const index = log.findIndex((event, place) => event.seq !== record.firstSeq + place)
    const wrong = log[index]
    const next = record.firstSeq + log.length
    return [
      ...(wrong ? [`${wrong.type} has seq ${wrong.seq}, expected ${record.firstSeq + index}`] : []),
      ...(next === record.nextSeq ? [] : [`nextSeq is ${record.nextSeq}, expected ${next} after the last event`]),
    ]
  }),
}

export const turnsEndOnce: Invariant = {
  name: 'a turn ends once',
  check: inEach(({ log, runs }) =>
    runs.flatMap((run) => {
      const ends = log.filter((event) => event.type === 'turn-end' && event.runId === run.id)
      const last = ends.filter((event) => 'status' in event && isTerminal(event.status)).length
      // A compaction has no turn.
      const expected = isTerminal(run.status) && run.kind !== 'compaction' ? 1 : 0
      return last === expected ? [] : [`the run ${run.id} is ${run.status} and has ${last} final turn-end events, expected ${expected}`]
    }),
  ),
}

export const compactionsAreMadeOnce: Invariant = {
  name: 'a compaction run compacts once',
  check: inEach(({ log, runs }) =>
    runs.flatMap(({ id, kind }) => {
      const made = log.filter((event) => event.type === 'compaction-end' && event.runId === id && event.outcome === 'done').length
      return kind !== 'compaction' || made <= 1
        ? []
        : [`the run ${id} has ${made} compaction-end events with outcome done, expected at most 1`]
    }),
  ),
}

export const logIsWellFormed: Invariant = {
  name: 'the log follows the event grammar',
  check: inEach(({ log }) => checkEvents(log)),
}

const ofRuns: ReadonlySet<string> = new Set(['run-queued', 'turn-start', 'turn-end', 'compaction-end', 'settled'])

export const logSettles: Invariant = {
  name: 'a session without an open run has settled',
  check: inEach(({ log, runs }) => {
    const last = log.findLast(({ type }) => ofRuns.has(type))
    if (!last || last.type === 'settled' || runs.some(({ status }) => !isTerminal(status))) return []
    return [`no run is open, but the last run event is ${last.type}, expected settled`]
  }),
}

export const logFolds: Invariant = {
  name: 'the view folded from the log has the messages of the transcript',
  check: inEach(({ log, path, messages }) => {
    const view = log.reduce(reduceEvents, emptyView)
    // This log does not have the messages of copies and of other branches.
    if (view.gap || path.some((entry) => entry.type !== 'message')) return []
    const folded = view.messages.map((message) => canonicalJson(message as unknown as JSONValue))
    const stored = messages.map((message) => canonicalJson(message as unknown as JSONValue))
    const place = stored.findIndex((message, index) => message !== folded[index])
    if (place === -1 && folded.length === stored.length) return []
    const from = place === -1 ? stored.length : place
    return [`the log gives ${folded.length} messages and the transcript has ${stored.length}, with the first difference at index ${from}`]
  }),
}

export const commitsAreSigned: Invariant = {
  name: 'each event belongs to a commit, and each claim to one process',
  check: inEach(({ log }) => {
    const commits = commitsOf(log)
    const covered = commits.reduce((sum, { firstSeq, lastSeq }) => sum + lastSeq - firstSeq + 1, 0)
    const owners = new Map<string, string>()
    const epochs = new Map<string, number>()
    const wrong = commits.flatMap(({ firstSeq, owner, runId = '', epoch = 0 }) => {
      if (owner === undefined) return [`the commit from seq ${firstSeq} has no owner`]
      if (epoch === 0) return []
      const claim = `${runId} ${epoch}`
      const [before = epoch, owned = owner] = [epochs.get(runId), owners.get(claim)]
      epochs.set(runId, epoch)
      owners.set(claim, owner)
      return [
        ...(before > epoch
          ? [`the commit from seq ${firstSeq} has epoch ${epoch} of the run ${runId}, but an earlier commit has epoch ${before}`]
          : []),
        ...(owned === owner
          ? []
          : [`the commit from seq ${firstSeq} is by ${owner}, but epoch ${epoch} of the run ${runId} belongs to ${owned}`]),
      ]
    })
    return covered === log.length ? wrong : [`${log.length - covered} events are in no commit`, ...wrong]
  }),
}
