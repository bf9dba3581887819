import type { StoredMessage } from '@bowline/agent-loop'
import type { CallKey, ToolCallRecord } from '@bowline/sessions'
import type { CrashEnd, Effect, Invariant, SessionEnd } from '../types.ts'

interface Call {
  readonly record: ToolCallRecord
  readonly session: SessionEnd
  readonly effects: readonly Effect[]
}

/** Returns every call in the ledger, with its effects outside. */
function callsOf({ sessions, world }: CrashEnd): readonly Call[] {
  return sessions.flatMap((session) =>
    session.calls.map((record) => ({ record, session, effects: world.effects.filter((effect) => isOf(effect, record)) })),
  )
}

function isOf(part: CallKey, { runId, step, toolCallId }: CallKey): boolean {
  return part.runId === runId && part.step === step && part.toolCallId === toolCallId
}

function nameOf({ name, runId, step, toolCallId }: ToolCallRecord): string {
  return `${name} (${runId}/${step}/${toolCallId})`
}

export const onceIsOnce: Invariant = {
  name: 'a call with effect once takes effect at most once',
  check: (end) =>
    callsOf(end)
      .filter(({ record, effects }) => record.effect === 'once' && effects.length > 1)
      .map(({ record, effects }) => `${nameOf(record)} took effect ${effects.length} times, expected at most 1`),
}

export const keysAreKept: Invariant = {
  name: 'each call has one idempotency key of its own',
  check: (end) => {
    const calls = callsOf(end)
    return calls.flatMap(({ record, effects }) => {
      const other = effects.find((effect) => effect.idempotencyKey !== record.idempotencyKey)
      const sharing = calls.filter((call) => call.record.idempotencyKey === record.idempotencyKey)
      return [
        ...(other
          ? [`${nameOf(record)} ran with the idempotency key ${other.idempotencyKey}, but its ledger record has ${record.idempotencyKey}`]
          : []),
        ...(sharing.length > 1 ? [`${sharing.length} calls have the idempotency key ${record.idempotencyKey}, expected 1`] : []),
      ]
    })
  },
}

export const doubtIsSurfaced: Invariant = {
  name: 'each effect has a recorded outcome, or its outcome is reported as unknown',
  check: (end) => [...callsOf(end).flatMap(hiddenEffect), ...strayEffects(end)],
}

/** Reports a call that took effect although the ledger does not say so. */
function hiddenEffect({ record, session, effects }: Call): string[] {
  const { state, status, toolCallId } = record
  if (effects.length === 0 || status === 'result' || status === 'error' || status === 'unknown') return []
  // A call that was stopped while running may have taken effect. If it may be repeated, it counts as cancelled.
  if (status === 'cancelled' && record.effect !== 'once') return []
  const run = session.runs.find((each) => each.id === record.runId)
  const asked = run?.status === 'needs-recovery' ? run.pendingToolCalls : []
  const isAsked = asked.some((call) => call.toolCallId === toolCallId && call.unknown)
  return isAsked ? [] : [`${nameOf(record)} took effect, but its call is recorded as ${status ?? state}`]
}

function strayEffects({ sessions, world }: CrashEnd): string[] {
  const calls = sessions.flatMap((session) => session.calls)
  const strays = world.effects.filter((effect) => !calls.some((call) => isOf(effect, call)))
  return strays.map(({ toolName, idempotencyKey }) => `${toolName} (${idempotencyKey}) took effect, but the ledger has no such call`)
}

function isResultOf(message: StoredMessage, { toolCallId }: ToolCallRecord): boolean {
  return message.role === 'tool-result' && message.toolCallId === toolCallId
}

export const callsHaveOneOutcome: Invariant = {
  name: 'a call has one outcome',
  check: (end) =>
    callsOf(end).flatMap(({ record, session }) => {
      const expected = record.state === 'settled' && record.about === undefined ? 1 : 0
      const ends = session.log.filter((event) => event.type === 'tool-execution-end' && isOf(event, record)).length
      const results = session.messages.filter((message) => isResultOf(message, record)).length
      const it = `${nameOf(record)} is ${record.state}`
      return [
        ...(ends === expected ? [] : [`${it} and has ${ends} tool-execution-end events, expected ${expected}`]),
        ...(results <= expected ? [] : [`${it} and has ${results} results in the transcript, expected at most ${expected}`]),
      ]
    }),
}
