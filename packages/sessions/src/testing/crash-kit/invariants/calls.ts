import type { ToolCallRecord } from '../../../store/records.ts'
import type { CrashEnd, Effect, Invariant, SessionEnd } from '../types.ts'

interface Call {
  readonly record: ToolCallRecord
  readonly session: SessionEnd
  readonly effects: readonly Effect[]
}

/** Every call that the ledger knows, with what it did outside. */
function callsOf({ sessions, world }: CrashEnd): readonly Call[] {
  return sessions.flatMap((session) =>
    session.calls.map((record) => ({ record, session, effects: world.effects.filter((effect) => isOf(effect, record)) })),
  )
}

function isOf(effect: Effect, { runId, step, toolCallId }: ToolCallRecord): boolean {
  return effect.runId === runId && effect.step === step && effect.toolCallId === toolCallId
}

function nameOf({ name, runId, step, toolCallId }: ToolCallRecord): string {
  return `${name} (${runId}/${step}/${toolCallId})`
}

export const onceIsOnce: Invariant = {
  name: 'a tool with the effect once takes effect at most once',
  check: (end) =>
    callsOf(end).flatMap(({ record, effects }) => (record.effect === 'once' && effects.length > 1 ? [`${nameOf(record)} took effect ${effects.length} times`] : [])),
}

export const keysAreKept: Invariant = {
  name: 'a call has one idempotency key, and no other call has it',
  check: (end) => {
    const calls = callsOf(end)
    return calls.flatMap(({ record, effects }) => {
      const other = effects.find((effect) => effect.idempotencyKey !== record.idempotencyKey)
      const sharing = calls.filter((call) => call.record.idempotencyKey === record.idempotencyKey)
      return [
        ...(other ? [`${nameOf(record)} was given the key ${other.idempotencyKey}, and the ledger has ${record.idempotencyKey}`] : []),
        ...(sharing.length > 1 ? [`${sharing.length} calls have the key ${record.idempotencyKey}`] : []),
      ]
    })
  },
}

export const doubtIsSurfaced: Invariant = {
  name: 'an effect has an outcome, or somebody is told that nobody knows it',
  check: (end) => [...callsOf(end).flatMap(hiddenEffect), ...strayEffects(end)],
}

/** It took effect, and the ledger says that it did not, or nothing. */
function hiddenEffect({ record, session, effects }: Call): string[] {
  const { state, status, toolCallId } = record
  if (effects.length === 0 || status === 'result' || status === 'error' || status === 'unknown') return []
  const run = session.runs.find((each) => each.id === record.runId)
  const isAsked = run?.status === 'needs-recovery' && run.pendingToolCalls.some((call) => call.toolCallId === toolCallId && call.unknown)
  return isAsked ? [] : [`${nameOf(record)} took effect, and its call is ${status ?? state}`]
}

function strayEffects({ sessions, world }: CrashEnd): string[] {
  const calls = sessions.flatMap((session) => session.calls)
  return world.effects.filter((effect) => !calls.some((call) => isOf(effect, call))).map((effect) => `the ledger does not know ${effect.toolName} (${effect.idempotencyKey}), which took effect`)
}

export const callsHaveOneOutcome: Invariant = {
  name: 'a call has one outcome',
  check: (end) =>
    callsOf(end).flatMap(({ record, session }) => {
      const { runId, step, toolCallId, state } = record
      const ends = session.log.filter((event) => event.type === 'tool-execution-end' && event.runId === runId && event.step === step && event.toolCallId === toolCallId)
      const results = session.messages.filter((message) => message.role === 'tool-result' && message.toolCallId === toolCallId)
      const expected = state === 'settled' ? 1 : 0
      return [
        ...(ends.length === expected ? [] : [`${nameOf(record)} is ${state} and has ${ends.length} ends in the log`]),
        ...(results.length <= expected ? [] : [`${nameOf(record)} is ${state} and has ${results.length} results in the transcript`]),
      ]
    }),
}
