import type { DueReport } from '../../contract/session-store.ts'
import type { CrashEnd, Effect, SessionEnd } from '../crash-kit/types.ts'
import { readSessions } from '../crash-kit/read-end.ts'
import type { SessionInfo } from '../../commands/types.ts'
import type { AcceptedInput, Clients, Copy } from './client.ts'
import type { Program, ProgramSession } from './program.ts'
import type { ProgramReader } from './reader.ts'
import type { Stage } from './stage.ts'

/** The store at rest, before the clients answer what is asked. */
export interface FirstRest {
  /** The answer of `info` for each session of the clients. Absent if the session is missing or its process was struck. */
  readonly infos: ReadonlyMap<string, SessionInfo>
  readonly now: number
  readonly sessions: readonly SessionEnd[]
  readonly due: DueReport
}

/** Everything that there is to see when a program is over. */
export interface ProgramEnd extends CrashEnd {
  readonly program: Program
  readonly firstRest: FirstRest
  readonly accepted: readonly AcceptedInput[]
  readonly decisions: ReadonlyMap<string, 'approve' | 'deny'>
  /** How often a client has asked for a call to be run again. */
  readonly runAgain: ReadonlyMap<string, number>
  /** Sessions from which clients took inputs back. */
  readonly cleared: ReadonlySet<string>
  readonly readers: readonly Pick<ProgramReader, 'session' | 'runId' | 'events' | 'endedAt' | 'refused' | 'start'>[]
  readonly copies: readonly Copy[]
  /** Undocumented errors that clients got. */
  readonly surprises: readonly string[]
  /** Runtimes that did not stop, and runs that were left alone. */
  readonly faults: readonly string[]
  readonly ceiling: readonly string[]
  /** Where the store said otherwise than a plain model what is due. */
  readonly dueProblems: readonly string[]
  /** Prompts that models got. */
  readonly prompts: readonly string[]
  /** When something was written to each session last. */
  readonly writtenAt: ReadonlyMap<string, number>
}

/** A condition on the end of a program. The invariants of scenarios are conditions on programs too. */
export interface ProgramInvariant {
  readonly name: string
  /** Returns the problems; an empty list means none. */
  readonly check: (end: ProgramEnd) => readonly string[]
}

export async function lookAtRest(stage: Stage): Promise<FirstRest> {
  const { store, time, current } = stage
  const infos = new Map<string, SessionInfo>()
  for (const key of ['a', 'b'] as const) {
    void current.runtime.session(key).info().then(
      (info) => info && infos.set(key, info),
      () => undefined,
    )
  }
  await stage.settle()
  // A frozen process answers later, with an old answer.
  return { infos: new Map(infos), now: time.now, sessions: await readSessions(store), due: await store.due(100) }
}

export async function lookAtEnd(stage: Stage, clients: Clients, firstRest: FirstRest, stuck: string | undefined): Promise<ProgramEnd> {
  const { accepted, answers, runAgain, cleared, readers, copies, surprises } = clients
  const kept = accepted.filter(({ session }) => !cleared.has(session as ProgramSession))
  const runs = kept.flatMap(({ runId }) => runId ?? [])
  const sessions = await readSessions(stage.store)
  return {
    world: { effects: effectsOf(stage, sessions), notes: stage.world.notes },
    sessions,
    acknowledged: { runs, answers: new Map([...answers].map(([id, { times }]) => [id, times])), inputs: kept },
    staleWrites: stage.gate.staleWrites,
    ...(stuck === undefined ? {} : { stuck }),
    program: stage.program,
    firstRest,
    accepted,
    decisions: new Map([...answers].flatMap(([id, { decision }]) => (decision ? [[id, decision] as const] : []))),
    ...{ runAgain, cleared, readers, copies },
    surprises,
    faults: stage.faults,
    ceiling: stage.ceiling.problems(),
    dueProblems: stage.dueModel.problems,
    prompts: stage.models.prompts,
    writtenAt: stage.writtenAt,
  }
}

/** Deleting a session deletes its ledger, so the effects of its calls can no longer be checked. */
function effectsOf({ program, world: { effects } }: Stage, sessions: readonly SessionEnd[]): readonly Effect[] {
  if (!program.steps.some((step) => step.do === 'delete')) return effects
  const known = new Set(sessions.flatMap(({ runs }) => runs.map(({ id }) => id)))
  return effects.filter(({ runId }) => known.has(runId))
}
