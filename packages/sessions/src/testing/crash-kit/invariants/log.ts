import { canonicalJson } from '@bowline/agent-loop'
import { commitsOf, emptyView, reduceEvents } from '@bowline/agent-loop/events'
import { checkEvents } from '@bowline/agent-loop/testing'
import type { JSONValue } from '@bowline/llm'
import { terminalStatuses } from '../../../contract/records.ts'
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
  name: 'the log is numbered without gaps',
  check: inEach(({ log, record }) => {
    const wrong = log.find((event, index) => event.seq !== record.firstSeq + index)
    const last = record.firstSeq + log.length
    return [
      ...(wrong ? [`${wrong.type} has the number ${wrong.seq}`] : []),
      ...(last === record.nextSeq ? [] : [`the log ends before ${last}, and the next number is ${record.nextSeq}`]),
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
      return last === expected ? [] : [`${run.id} is ${run.status} and has ${last} ends in the log`]
    }),
  ),
}

export const compactionsAreMadeOnce: Invariant = {
  name: 'a compaction is made once',
  check: inEach(({ log, runs }) =>
    runs.flatMap(({ id, kind }) => {
      const made = log.filter((event) => event.type === 'compaction-end' && event.runId === id && event.outcome === 'done').length
      return kind !== 'compaction' || made <= 1 ? [] : [`${id} made ${made} compactions`]
    }),
  ),
}

export const logIsWellFormed: Invariant = {
  name: 'the log has the grammar of events',
  check: inEach(({ log }) => checkEvents(log)),
}

const ofRuns: ReadonlySet<string> = new Set(['run-queued', 'turn-start', 'turn-end', 'compaction-end', 'settled'])

export const logSettles: Invariant = {
  name: 'a session without an open run has settled',
  check: inEach(({ log, runs }) => {
    const last = log.findLast(({ type }) => ofRuns.has(type))
    if (!last || last.type === 'settled' || runs.some(({ status }) => !isTerminal(status))) return []
    return [`the last event of a run is ${last.type}`]
  }),
}

export const logFolds: Invariant = {
  name: 'the log folds to the transcript',
  check: inEach(({ log, path, messages }) => {
    const view = log.reduce(reduceEvents, emptyView)
    // This log does not have the messages of copies and of other branches.
    if (view.gap || path.some((entry) => entry.type !== 'message')) return []
    const folded = view.messages.map((message) => canonicalJson(message as unknown as JSONValue))
    const stored = messages.map((message) => canonicalJson(message as unknown as JSONValue))
    const place = stored.findIndex((message, index) => message !== folded[index])
    if (place === -1 && folded.length === stored.length) return []
    const from = place === -1 ? stored.length : place
    return [`${folded.length} messages of the log against ${stored.length} of the transcript, which differ from ${from} on`]
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
      if (owner === undefined) return [`the commit at ${firstSeq} has no owner`]
      if (epoch === 0) return []
      const claim = `${runId} ${epoch}`
      const [before = epoch, owned = owner] = [epochs.get(runId), owners.get(claim)]
      epochs.set(runId, epoch)
      owners.set(claim, owner)
      return [
        ...(before > epoch ? [`the commit at ${firstSeq} is of epoch ${epoch} of ${runId}, after one of ${before}`] : []),
        ...(owned === owner ? [] : [`the commit at ${firstSeq} is by ${owner}, and epoch ${epoch} of ${runId} belongs to ${owned}`]),
      ]
    })
    return covered === log.length ? wrong : [`${log.length - covered} events are in no commit`, ...wrong]
  }),
}
