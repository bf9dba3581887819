import { AgentError, hashJson, parseInput, type Accepted as EnqueuedInput, type AgentInput } from '@bowline/agent-loop'
import type { UserMessage } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { checkInputId } from '../keys.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { Batch, CommitRefusal, CommitResult, Expect, NewRun, Write } from '../store/contract.ts'
import type { RunKind, SessionRecord, StoredEvent } from '../store/records.ts'
import type { SessionAccess, SessionIdentity } from './access.ts'
import type { SessionContext } from './context.ts'
import type { OnBusy, SendOptions } from './types.ts'
import { openStatuses } from './views.ts'

const maxQueuedRuns = 1000
const maxTries = 20
const lookAgain: ReadonlySet<CommitRefusal> = new Set(['conflict', 'missing', 'deleted', 'expired'])

export interface Accepted {
  readonly runId: string
  readonly accepted: 'queued' | 'duplicate'
}

/** Makes an input durable as a queued run; the session comes into being with the first one. */
export async function acceptInput(
  context: SessionContext,
  access: SessionAccess,
  input: AgentInput,
  options: SendOptions,
): Promise<Accepted> {
  const run = newRun(context, input, options, 'user')
  for (let tries = 0; tries < maxTries; tries++) {
    const session = await access.find()
    if (session) access.checkAlive(session)
    const batch = acceptBatch(context, access.identity, session, run, options.onBusy ?? context.onBusy)
    const result = await commitOnce(context.store, batch)
    if (result.ok) return accepted(context, access, run, session, result)
    // Somebody else made, deleted or outlived the session in the meantime: look again.
    if (!lookAgain.has(result.reason)) throw await refusal(context, result.reason, access.key)
  }
  throw new SessionError('conflict', `The session ${access.key} changed ${maxTries} times while the input was accepted.`)
}

/** The session, made now if there is none. */
export async function openSession(context: SessionContext, access: SessionAccess): Promise<SessionRecord> {
  const existing = await access.find()
  if (existing) return existing
  const { identity } = access
  const at = context.clock.now()
  const result = await commitOnce(context.store, {
    id: context.ids.next('batch'),
    key: identity.key,
    expect: [{ that: 'session', id: null }],
    writes: creation(context, identity, at),
  })
  if (result.ok) publishOwn(context, identity.key, result, [sessionStart(identity.key, at)])
  else if (result.reason !== 'conflict') throw await refusal(context, result.reason, identity.key)
  return access.required()
}

/** What a run asks for behind itself is a run of its own; whoever ends this one looks for the next. */
export async function acceptFollowUp(
  context: Pick<SessionContext, 'store' | 'live' | 'clock' | 'ids'>,
  session: SessionRecord,
  input: AgentInput,
): Promise<EnqueuedInput> {
  const { key, id } = session
  const inputId = context.ids.next('input')
  const run = newRun(context, input, { id: inputId }, 'follow-up')
  const result = await commitOnce(context.store, {
    id: context.ids.next('batch'),
    key,
    expect: [{ that: 'session', id }, { that: 'queue-below', max: maxQueuedRuns }],
    writes: insertion(run),
  })
  if (!result.ok) return { ok: false, reason: result.reason === 'queue-full' ? 'queue-full' : 'run-ended' }
  const queued = { ...runQueued(run), input: run.input }
  publishOwn(context, key, result, [queued])
  return { ok: true, inputId }
}

function newRun({ ids, clock }: Pick<SessionContext, 'clock' | 'ids'>, input: AgentInput, options: SendOptions, kind: RunKind): NewRun {
  if (options.id !== undefined) checkInputId(options.id)
  const body = messageOf(input) as unknown as NewRun['input']
  return {
    id: ids.next('run'),
    kind,
    ...(options.id === undefined ? {} : { inputId: options.id }),
    inputHash: hashJson(body),
    input: body,
    at: clock.now(),
  }
}

/** Copied at once, before anything is awaited. */
function messageOf(input: AgentInput): UserMessage {
  const message = parsed(input)
  if (!('role' in message)) {
    throw new SessionError('invalid-input', 'Answers are no input of send: use submitToolResults.')
  }
  return message
}

function parsed(input: AgentInput): ReturnType<typeof parseInput> {
  try {
    return parseInput(input)
  } catch (error) {
    if (!AgentError.isInstance(error)) throw error
    throw new SessionError('invalid-input', error.message)
  }
}

function acceptBatch(
  context: SessionContext,
  identity: SessionIdentity,
  session: SessionRecord | null,
  run: NewRun,
  onBusy: OnBusy,
): Batch {
  const expect: Expect[] = session ? [{ that: 'session', id: session.id, alive: true }] : [{ that: 'session', id: null }]
  if (session) expect.push(onBusy === 'reject' ? { that: 'idle', exceptCompaction: true } : { that: 'queue-below', max: maxQueuedRuns })
  return {
    id: context.ids.next('batch'),
    key: identity.key,
    expect,
    writes: [
      ...(session ? [] : creation(context, identity, run.at)),
      ...insertion(run),
    ],
  }
}

function insertion(run: NewRun): Write[] {
  return [
    { op: 'run.insert', run },
    { op: 'event.append', events: [{ event: runQueued(run), refers: { runInput: run.id } }] },
  ]
}

function creation(context: SessionContext, identity: SessionIdentity, at: number): Write[] {
  const { agent, owner, metadata, settings, key } = identity
  return [
    {
      op: 'session.ensure',
      session: { id: context.ids.next('session'), agent, metadata, settings, at, ...(owner === undefined ? {} : { owner }) },
    },
    { op: 'event.append', events: [{ event: sessionStart(key, at) }] },
  ]
}

function sessionStart(sessionKey: string, at: number) {
  return { type: 'session-start', at, sessionKey } as const
}

function runQueued(run: NewRun) {
  const inputId = run.inputId === undefined ? {} : { inputId: run.inputId }
  return { type: 'run-queued', at: run.at, runId: run.id, kind: run.kind, ...inputId } as const
}

function accepted(
  context: SessionContext,
  access: SessionAccess,
  run: NewRun,
  session: SessionRecord | null,
  result: Extract<CommitResult, { ok: true }>,
): Accepted {
  access.bind(result.sessionId)
  if (result.existing) return { runId: result.existing.runId, accepted: 'duplicate' }
  const queued = { ...runQueued(run), input: run.input }
  publishOwn(context, access.key, result, session ? [queued] : [sessionStart(access.key, run.at), queued])
  context.wake()
  return { runId: run.id, accepted: 'queued' }
}

/** Publishes events that no run made. */
export function publishOwn(
  context: Pick<SessionContext, 'live'>,
  key: string,
  result: Extract<CommitResult, { ok: true }>,
  events: readonly Omit<StoredEvent, 'seq'>[],
): void {
  context.live.publish(
    key,
    events.map((event, index) => ({ ...event, seq: result.firstSeq + index }) as StoredEvent),
    false,
  )
}

async function refusal(context: SessionContext, reason: CommitRefusal, key: string): Promise<SessionError> {
  switch (reason) {
    case 'busy': {
      const [open] = (await context.store.listRuns(key, { status: openStatuses, limit: 1 })).items
      return new SessionError('busy', `A run of the session ${key} is open.`, open ? { runId: open.id } : {})
    }
    case 'id-reused':
      return new SessionError('id-reused', 'The input id was accepted before with other content.')
    case 'queue-full':
      return new SessionError('queue-full', `The session ${key} has ${maxQueuedRuns} queued runs.`)
    default:
      return new SessionError('conflict', `The store refused the input: ${reason}.`)
  }
}
