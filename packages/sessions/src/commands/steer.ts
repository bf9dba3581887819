import { hashJson, type AgentInput } from '@bowline/agent-loop'
import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { CommitResult, Expect } from '../contract/batch.ts'
import type { InboxInput, InboxRecord, SessionRecord } from '../contract/records.ts'
import { steeringId } from '../core/named-inputs.ts'
import { outputSchemaOf } from './settings.ts'
import { acceptInput, openSession, refusal, type Accepted } from './accept.ts'
import type { SessionAccess } from './access.ts'
import type { SessionContext } from './context.ts'
import { messageOf, type NewInput } from './new-run.ts'
import type { InputOptions, OverlayOptions } from './types.ts'
import { openRuns } from './views.ts'
import { activeRun, asLogged, isTerminal } from '../contract/run-status.ts'

const maxInboxRows = 1000

/** Adds an input to the active run. If there is none when the input is stored, queues it as a run of its own. */
export async function steerInput(context: SessionContext, access: SessionAccess, input: AgentInput, options: NewInput): Promise<Accepted> {
  const given = givenInput(context, input, options)
  const copy = given.input as unknown as AgentInput
  const { runtimeParams } = options
  const output = outputSchemaOf('output', options.output)
  const own = { ...options, ...(runtimeParams && { runtimeParams: { ...runtimeParams } }), ...(output && { output }) }
  return retryOnConflict(
    async () => {
      const session = await access.find()
      const active = session && activeRun(await openRuns(context.store, access.key))
      if (!active || hasOwnOptions(options)) return acceptInput(context, access, copy, { ...own, onBusy: 'queue' })
      // Too late for this run. Becomes a follow-up, since it concerns the same work.
      if (active.stop || isTerminal(asLogged(active).status))
        return acceptInput(context, access, copy, { ...own, onBusy: 'queue', lane: 'follow-up' })
      access.checkAlive(session)
      const row: InboxRecord = {
        id: steeringId(given.inputId),
        kind: 'steer',
        at: context.clock.now(),
        body: { ...given, runId: active.id },
      }
      const result = await putRow(context, session, row, [{ that: 'run', runId: active.id, status: [active.status], notStopping: true }])
      if (result.ok) return result.existing ? { ...result.existing, accepted: 'duplicate' } : { runId: active.id, accepted: 'steered' }
      if (result.reason === 'queue-full' || result.reason === 'id-reused') throw await refusal(context, result.reason, access.key)
      return tryAgain
    },
    (tries) => `The session ${access.key} changed ${tries} times while the input was accepted.`,
  )
}

/** True for options that only a run can have. */
function hasOwnOptions({ notBefore, runtimeParams, output }: NewInput): boolean {
  return notBefore !== undefined || runtimeParams !== undefined || output !== undefined
}

/** Stores an overlay for the next turns, whether a run is active or not. */
export async function overlayInput(
  context: SessionContext,
  access: SessionAccess,
  input: AgentInput,
  { turns = 1, ...options }: OverlayOptions,
): Promise<void> {
  const given = givenInput(context, input, options)
  const row: InboxRecord = { id: `overlay:${given.inputId}`, kind: 'overlay', at: context.clock.now(), body: { ...given, turns } }
  const session = access.checkAlive(await openSession(context, access))
  const result = await putRow(context, session, row, [])
  if (result.ok || (result.reason === 'inbox' && (await isRepeat(context, access.key, row.id, given.hash)))) return
  throw await refusal(context, result.reason === 'inbox' ? 'id-reused' : result.reason, access.key)
}

async function isRepeat({ store }: SessionContext, key: string, rowId: string, hash: string | undefined): Promise<boolean> {
  const row = (await store.readInbox(key, ['overlay', 'taken'])).find((each) => each.id === rowId)
  return (row?.kind === 'overlay' || row?.kind === 'taken') && row.body.hash === hash
}

function putRow(
  { store, ids }: SessionContext,
  { id, key }: SessionRecord,
  row: InboxRecord,
  expect: readonly Expect[],
): Promise<CommitResult> {
  return store.commit({
    id: ids.next('batch'),
    key,
    expect: [{ that: 'session', id, alive: true }, { that: 'inbox-below', kind: row.kind, max: maxInboxRows }, ...expect],
    writes: [{ op: 'inbox.put', rows: [row] }],
  })
}

/** Checks and copies the input before anything is awaited. */
function givenInput({ ids }: SessionContext, given: AgentInput, { id }: InputOptions): InboxInput {
  const input = messageOf(given) as unknown as InboxInput['input']
  return id === undefined ? { inputId: ids.next('input'), input } : { inputId: id, hash: hashJson(input), input }
}
