import type { AgentInput } from '@bowline/agent-loop'
import { SessionError } from '../errors.ts'
import { checkInputId } from '../keys.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { CommitResult, Expect } from '../store/contract.ts'
import type { InboxRecord, SessionRecord } from '../store/records.ts'
import { acceptInput, messageOf, openSession, refusal, type Accepted, type NewInput } from './accept.ts'
import type { SessionAccess } from './access.ts'
import type { SessionContext } from './context.ts'
import type { OverlayOptions } from './types.ts'
import { activeRun, openRuns } from './views.ts'

const maxTries = 20
const maxInboxRows = 1000

/** Into the active run, if there is one when the input is stored; else a run of its own. */
export async function steerInput(
  context: SessionContext,
  access: SessionAccess,
  input: AgentInput,
  options: NewInput,
): Promise<Accepted> {
  const row = inboxRow(context, 'steer', input, options)
  for (let tries = 0; tries < maxTries; tries++) {
    const session = await access.find()
    const active = session && activeRun(await openRuns(context.store, access.key))
    if (!active || active.stop) return acceptInput(context, access, input, { ...options, onBusy: 'queue' })
    access.checkAlive(session)
    const expect: Expect = { that: 'run', runId: active.id, status: [active.status], notStopping: true }
    const result = await putRow(context, session, row, [expect])
    if (result.ok) return { runId: active.id, accepted: 'steered' }
    if (result.reason === 'inbox') return { runId: active.id, accepted: 'duplicate' }
    if (result.reason === 'queue-full') throw await refusal(context, result.reason, access.key)
  }
  throw new SessionError('conflict', `The session ${access.key} changed ${maxTries} times while the input was accepted.`)
}

/** For the turns to come; whether one is under way or not. */
export async function overlayInput(
  context: SessionContext,
  access: SessionAccess,
  input: AgentInput,
  { turns = 1, ...options }: OverlayOptions,
): Promise<void> {
  if (!Number.isInteger(turns) || turns < 1) throw new SessionError('invalid-input', 'turns must be a whole number from 1 on.')
  const row = inboxRow(context, 'overlay', input, options, turns)
  const session = access.checkAlive(await openSession(context, access))
  const result = await putRow(context, session, row, [])
  if (!result.ok && result.reason !== 'inbox') throw await refusal(context, result.reason, access.key)
}

async function putRow(context: SessionContext, { id, key }: SessionRecord, row: InboxRecord, expect: readonly Expect[]): Promise<CommitResult> {
  const result = await commitOnce(context.store, {
    id: context.ids.next('batch'),
    key,
    expect: [{ that: 'session', id, alive: true }, { that: 'inbox-below', kind: row.kind, max: maxInboxRows }, ...expect],
    writes: [{ op: 'inbox.put', rows: [row] }],
  })
  return result
}

/** Checked and copied at once, before anything is awaited. */
function inboxRow(context: SessionContext, kind: 'steer' | 'overlay', input: AgentInput, { id }: NewInput, turns = 1): InboxRecord {
  if (id !== undefined) checkInputId(id)
  const inputId = id ?? context.ids.next('input')
  const body = { inputId, input: messageOf(input) as unknown as NewInputBody }
  const base = { id: `${kind}:${inputId}`, at: context.clock.now() }
  return kind === 'steer' ? { ...base, kind, body } : { ...base, kind, body: { ...body, turns } }
}

type NewInputBody = Extract<InboxRecord, { kind: 'steer' }>['body']['input']
