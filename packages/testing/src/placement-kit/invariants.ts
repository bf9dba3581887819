import type { StoredEvent } from '@bowline/sessions'
import { standardInvariants } from '../crash-kit/invariants.ts'
import type { HastyClaim } from '../crash-kit/scene.ts'
import type { CrashEnd, Effect, Invariant, SessionEnd } from '../crash-kit/types.ts'

/** The end of a program, with what its host did. */
export interface PlacementEnd extends CrashEnd {
  /** Claims of runs of workers that are alive, of which some may have been frozen before. */
  readonly hastyClaims: readonly HastyClaim[]
  /** Due work that was not begun in time. */
  readonly lateWork: readonly string[]
  /** Errors of clients that are no refusals. */
  readonly surprises: readonly string[]
  /** Names of the processes that were killed or frozen. */
  readonly disturbed: ReadonlySet<string>
  /** Time before which no run of the input may start, by session and id of the input. */
  readonly notBefore: ReadonlyMap<string, number>
}

interface PlacementInvariant extends Omit<Invariant, 'check'> {
  readonly check: (end: PlacementEnd) => readonly string[]
}

export const placementInvariants: readonly PlacementInvariant[] = [
  ...standardInvariants,
  { name: 'a client gets answers and refusals only', check: ({ surprises }) => surprises },
  { name: 'due work is begun in time', check: ({ lateWork }) => lateWork },
  { name: 'a run is taken over only from a worker that does not answer', check: hastyTakeovers },
  { name: 'each run has ended when all questions are answered', check: ({ sessions }) => sessions.flatMap(openRuns) },
  { name: 'an input has at most one run', check: ({ sessions }) => sessions.flatMap(repeatedInputs) },
  { name: 'nothing starts before its time', check: ({ sessions, notBefore }) => sessions.flatMap((each) => earlyStarts(each, notBefore)) },
  { name: 'the outcome of a call is unknown only if its worker was disturbed', check: falseDoubts },
]

function hastyTakeovers({ hastyClaims, disturbed }: PlacementEnd): readonly string[] {
  return hastyClaims.flatMap(({ runId, by, from }) =>
    disturbed.has(from) ? [] : [`${by} took the run ${runId} from ${from}, which was executing it`],
  )
}

function openRuns({ runs }: SessionEnd): readonly string[] {
  return runs.flatMap(({ id, status, endedAt }) => (endedAt === undefined ? [`the run ${id} is ${status}`] : []))
}

function repeatedInputs({ record, runs }: SessionEnd): readonly string[] {
  const counts = Map.groupBy(runs, ({ inputId }) => inputId)
  return [...counts].flatMap(([inputId, found]) =>
    inputId !== undefined && found.length > 1 ? [`${record.key}: the input ${inputId} has ${found.length} runs`] : [],
  )
}

function earlyStarts({ record, runs, calls, log }: SessionEnd, notBefore: PlacementEnd['notBefore']): readonly string[] {
  const runsToo = runs.flatMap(({ id, inputId = '', createdAt, startedAt = Infinity }) => {
    const [, time] = /^schedule:[^:]+:(.+)$/.exec(inputId) ?? []
    const from = time === undefined ? (notBefore.get(`${record.key} ${inputId}`) ?? 0) : Date.parse(time)
    const at = time === undefined ? startedAt : createdAt
    return at < from ? [`${record.key}: the run ${id} of ${inputId} began at ${at}, expected ${from} or later`] : []
  })
  const callsToo = calls.flatMap(({ name, toolCallId, runId, status, deadlineAt = 0 }) => {
    const end = log.find((event) => isEndOf(event, runId, toolCallId))
    // Other tools may fail at any time.
    const isEarly = name === 'place' && status === 'error' && end !== undefined && end.at < deadlineAt
    return isEarly ? [`${record.key}: the call ${toolCallId} failed at ${end.at}, but its deadline is ${deadlineAt}`] : []
  })
  return [...runsToo, ...callsToo]
}

function isEndOf(event: StoredEvent, runId: string, toolCallId: string): boolean {
  return event.type === 'tool-execution-end' && event.runId === runId && event.toolCallId === toolCallId
}

/** A client that stops a run may leave a call with an unknown outcome too. */
function falseDoubts({ sessions, world, disturbed }: PlacementEnd): readonly string[] {
  return sessions.flatMap(({ calls, runs }) =>
    calls.flatMap(({ name, runId, step, toolCallId, status, idempotencyKey }) => {
      if (status !== 'unknown' || runs.some((run) => run.id === runId && run.stop !== undefined)) return []
      const starts = world.effects.filter((effect: Effect) => effect.idempotencyKey === idempotencyKey)
      const isDoubtful = starts.length === 0 ? disturbed.size > 0 : starts.some(({ process }) => disturbed.has(process))
      return isDoubtful ? [] : [`${name} (${runId}/${step}/${toolCallId}) is unknown, but its worker lived`]
    }),
  )
}
