import { claim, commit, deliver } from './model-commit.ts'
import { isKnown } from './model-expectations.ts'
import {
  hasResult,
  isAccepted,
  isStopped,
  listRunInfos,
  listRuns,
  readCalls,
  readEvents,
  readInbox,
  readInfo,
  readLease,
  readMessages,
  readPath,
  readRun,
  readSession,
  readToEnd,
  seeEvent,
} from './model-reads.ts'
import type { AnswerOf, CallOf, EventFacts, History, HistoryCall, HistoryOperation, HistoryWhat } from './operations.ts'
import type { Contradiction, SessionModel } from './session-model.ts'

/** Effect of one operation on one session, or what the operation read of it. */
export interface Step {
  readonly operation: HistoryOperation
  readonly calledAt: number
  readonly returnedAt: number
  /** True if no answer confirms the operation: it may have happened. */
  readonly isOptional: boolean
  /** True if it changes nothing: the other steps mean the same without it. */
  readonly isRead: boolean
  readonly apply: (model: SessionModel) => Contradiction | undefined
  /** Applies the step as if no answer had come. */
  readonly applyUnanswered: (model: SessionModel) => Contradiction | undefined
}

/** Divides a history by session, because no rule of the model involves two sessions. */
export function partition(history: History): ReadonlyMap<string, readonly Step[]> {
  const parts = new Map<string, Step[]>()
  const sessions = sessionsOfRuns(history)
  for (const { namespace, key } of sessionsIn(history)) parts.set(`${namespace}/${key}`, [])
  for (const operation of history) {
    for (const [key, step] of stepsOf(operation, sessions)) {
      const names =
        key === null ? [...parts.keys()].filter((name) => name.startsWith(`${operation.namespace}/`)) : [`${operation.namespace}/${key}`]
      for (const name of names) parts.get(name)?.push(step)
    }
  }
  return parts
}

/** Returns the sessions that commits and calls of clients name. */
function sessionsIn(history: History): readonly { readonly namespace: string; readonly key: string }[] {
  return history.flatMap(({ namespace, call }) => {
    if (call.what === 'commit')
      return [call.batch.key, ...(call.batch.deliver ?? []).map(({ to }) => to)].map((key) => ({ namespace, key }))
    return 'key' in call ? [{ namespace, key: call.key }] : []
  })
}

function sessionsOfRuns(history: History): ReadonlyMap<string, string> {
  const sessions = new Map<string, string>()
  for (const { namespace, call } of history) {
    if (call.what !== 'commit') continue
    for (const { key, writes } of [
      call.batch,
      ...(call.batch.deliver ?? []).map(({ to, writes: delivered }) => ({ key: to, writes: delivered })),
    ]) {
      for (const write of writes) if (write.op === 'run.insert') sessions.set(`${namespace}/${write.id}`, key)
    }
  }
  return sessions
}

/** Key of a session and a step; null: all sessions of the namespace. */
type PlacedStep = readonly [key: string | null, step: Step]
type Place = (key: string | null | undefined, apply: Step['apply'], more?: Partial<Step>) => readonly PlacedStep[]

function stepsOf(operation: HistoryOperation, sessions: ReadonlyMap<string, string>): readonly PlacedStep[] {
  const { call, answer, namespace } = operation
  const place: Place = (key, apply, more = {}) => {
    if (key === undefined) return []
    const { id, calledAt, returnedAt } = operation
    const named =
      (run: Step['apply']): Step['apply'] =>
      (model) => {
        model.operation = id
        return run(model)
      }
    const { applyUnanswered = apply } = more
    return [
      [
        key,
        {
          operation,
          calledAt,
          returnedAt,
          isOptional: answer === undefined,
          isRead: false,
          ...more,
          apply: named(apply),
          applyUnanswered: named(applyUnanswered),
        },
      ],
    ]
  }
  if (call.what === 'commit') return stepsOfCommit(operation, call, place)
  if (call.what === 'claim') return stepsOfClaim(operation, call, place)
  if (call.what === 'prune')
    return !answer || (answer as AnswerOf<'prune'>).changed
      ? place(null, (model) => void model.prune(), { isOptional: true, returnedAt: Infinity })
      : []
  if (!answer) return []
  const sessionOf = (runId: string): string | undefined => sessions.get(`${namespace}/${runId}`)
  if (call.what === 'renew') {
    return (answer as AnswerOf<'renew'>).states.flatMap((state, index) =>
      place(sessionOf(state.runId), (model) => readLease(model, operation.process, call.leases[index]?.epoch ?? 0, state), {
        isRead: true,
      }),
    )
  }
  const key = 'key' in call ? call.key : sessionOf(call.runId)
  return place(key, (model) => look(model, call, answer), { isRead: true })
}

function stepsOfCommit({ process, answer }: HistoryOperation, { batch }: CallOf<'commit'>, place: Place): readonly PlacedStep[] {
  const facts = answer as AnswerOf<'commit'> | undefined
  const own = place(batch.key, (model) => commit(model, process, batch, facts), {
    isRead: facts?.ok === false,
    applyUnanswered: (model) => commit(model, process, batch, undefined),
  })
  if (facts && (!facts.ok || facts.existing !== undefined)) return own
  const delivered = (batch.deliver ?? []).flatMap((delivery) => {
    const isSure = facts !== undefined && (delivery.when ?? []).every(isKnown)
    const happens: Step['apply'] = (model) => deliver(model, delivery)
    // A dropped delivery of an acknowledged commit has its place in the order too.
    return place(delivery.to, isSure ? (model) => void happens(model) : happens, { isOptional: !isSure, applyUnanswered: happens })
  })
  return [...own, ...delivered]
}

/** A claim without an answer may have claimed one run in each session. */
function stepsOfClaim({ process, answer }: HistoryOperation, { runId }: CallOf<'claim'>, place: Place): readonly PlacedStep[] {
  if (!answer) return place(null, (model) => claim(model, process, runId, undefined))
  return (answer as AnswerOf<'claim'>).claims.flatMap((facts) =>
    place(facts.key, (model) => claim(model, process, runId, facts), {
      applyUnanswered: (model) => claim(model, process, facts.runId, undefined),
    }),
  )
}

type Looking = Exclude<HistoryWhat, 'commit' | 'claim' | 'renew' | 'prune'>

const looks: {
  readonly [What in Looking]: (model: SessionModel, call: CallOf<What>, answer: AnswerOf<What>) => Contradiction | undefined
} = {
  readSession: (model, _call, answer) => readSession(model, answer),
  readRun: (model, { runId }, { run }) => readRun(model, runId, run),
  listRuns,
  readCalls,
  readInbox,
  readPath,
  readEvents,
  send: isAccepted,
  stop: (model, _call, answer) => isStopped(model, answer),
  result: hasResult,
  info: (model, _call, answer) => readInfo(model, answer),
  messages: (model, _call, answer) => readMessages(model, answer),
  runs: listRunInfos,
  events: (model, _call, answer) => readToEnd(model, answer),
  event: (model, _call, answer: EventFacts) => seeEvent(model, answer),
}

function look(model: SessionModel, call: HistoryCall, answer: HistoryOperation['answer']): Contradiction | undefined {
  return looks[call.what as Looking](model, call as never, answer as never)
}
