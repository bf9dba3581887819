import type { SessionInfo } from '../../../src/commands/types.ts'
import { readSessions } from '../../../../testing/src/crash-kit/read-end.ts'
import type { Effect, SessionEnd } from '../../../../testing/src/crash-kit/types.ts'
import type { SessionStore } from '../../../src/contract/session-store.ts'
import { readAll } from '../../../src/contract/paging.ts'
import { recordRequests } from '../../../src/requests/record-requests.ts'
import type { Clients } from './client.ts'
import type { FirstRest, ProgramEnd, SessionRequests } from './program-end.ts'
import type { ProgramSession } from './program.ts'
import type { Stage } from './stage.ts'

export async function lookAtRest(stage: Stage): Promise<FirstRest> {
  const { store, time, current } = stage
  const infos = new Map<string, SessionInfo>()
  for (const key of ['a', 'b'] as const) {
    void current.runtime
      .session(key)
      .info()
      .then(
        (info) => info && infos.set(key, info),
        () => undefined,
      )
  }
  await stage.settle()
  // A process that was frozen may answer `info` late, with an old state.
  return { infos: new Map(infos), now: time.now, sessions: await readSessions(store), due: await store.due(100) }
}

export async function lookAtEnd(stage: Stage, clients: Clients, firstRest: FirstRest, stuck: string | undefined): Promise<ProgramEnd> {
  const { accepted, answers, runAgain, cleared, readers, copies, lists, amidTurn, surprises } = clients
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
    runAgain,
    cleared,
    readers,
    copies,
    lists,
    amidTurn,
    notices: await readAll((page) => stage.store.listNotices(page)),
    surprises,
    faults: stage.faults,
    ceiling: stage.ceiling.problems(),
    dueProblems: stage.dueModel.problems,
    prompts: stage.models.prompts,
    requests: stage.program.setup.records ? await readRequests(stage.store, sessions) : [],
    writtenAt: stage.writtenAt,
  }
}

/** Reads the requests in pages, as another process would. */
function readRequests(store: SessionStore, sessions: readonly SessionEnd[]): Promise<readonly SessionRequests[]> {
  const recorder = recordRequests({ store })
  return Promise.all(
    sessions.map(async ({ record: { key } }) => {
      try {
        const listed = await readAll((page) => recorder.list(key, { ...page, limit: 3 }))
        const whole = await Promise.all(listed.map(({ id }) => recorder.get(key, id)))
        return {
          key,
          whole: whole.flatMap((each) => each ?? []).reverse(),
          unreadable: listed.flatMap(({ id }, place) => (whole[place] ? [] : id)),
        }
      } catch (error) {
        return { key, whole: [], unreadable: [], thrown: String(error) }
      }
    }),
  )
}

/** Returns the effects that can be checked. Deleting a session deletes its ledger, so the effects of its calls cannot be checked. */
function effectsOf({ program, world: { effects } }: Stage, sessions: readonly SessionEnd[]): readonly Effect[] {
  if (!program.steps.some((step) => step.do === 'delete')) return effects
  const known = new Set(sessions.flatMap(({ runs }) => runs.map(({ id }) => id)))
  return effects.filter(({ runId }) => known.has(runId))
}
