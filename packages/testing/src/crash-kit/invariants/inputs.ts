import { hashJson } from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'
import type { InboxRecord, RunRecord } from '@bowline/sessions'
import type { AcknowledgedInput, CrashEnd, Invariant, SessionEnd } from '../types.ts'

export const acceptedInputsAreFound: Invariant = {
  name: 'each accepted input is stored, and is accepted once',
  check: ({ acknowledged, sessions }) =>
    sessions.flatMap((session) => {
      if (session.record.expiredAt !== undefined) return []
      const groups = Map.groupBy(
        acknowledged.inputs.filter((input) => input.session === session.record.key),
        nameOf,
      )
      return [...groups].flatMap(([name, inputs]) => problemsOf(session, name, inputs))
    }),
}

/** Returns the name of an input. Inputs with the same id are one input. Without an id, the content identifies an input. */
function nameOf({ method, inputId, content }: AcknowledgedInput): string {
  return `${method} ${inputId ?? JSON.stringify(content)}`
}

function problemsOf(session: SessionEnd, name: string, inputs: readonly AcknowledgedInput[]): readonly string[] {
  const [first] = inputs
  if (!first) return []
  const accepted = inputs.filter(({ isNew }) => isNew).length
  const { inputId, method } = first
  if (inputId === undefined) {
    const found = countByContent(session, first)
    return found < accepted
      ? [`${session.record.key}: the input (${name}) was accepted ${accepted} times, but is stored ${found} times`]
      : []
  }
  if (method === 'overlay') return problemsOfOverlay(session, inputId, first.turns ?? 1)
  const forgotten = accepted > 1 ? [`${session.record.key}: the input (${name}) was accepted as new ${accepted} times, expected 1`] : []
  return isNamedIn(session, inputId)
    ? forgotten
    : [...forgotten, `${session.record.key}: the input (${name}) was accepted, but is not stored`]
}

/** Compares the number of turns of an overlay with the turns that have seen it and the turns that are left. */
function problemsOfOverlay({ record, log, inbox }: SessionEnd, inputId: string, turns: number): readonly string[] {
  const seen = log.filter((event) => event.type === 'runtime-input' && event.inputId === inputId).length
  const left = inbox.flatMap((row) => (row.kind === 'overlay' && row.body.inputId === inputId ? row.body.turns : [])).at(0) ?? 0
  return seen + left === turns
    ? []
    : [`${record.key}: the overlay ${inputId} is for ${turns} turns, but ${seen} turns have used it and ${left} are left`]
}

function isNamedIn({ runs, log, inbox }: SessionEnd, inputId: string): boolean {
  if (runs.some((run) => run.inputId === inputId) || log.some((event) => event.type === 'runtime-input' && event.inputId === inputId))
    return true
  return inbox.some((row) => row.id === `steer:${inputId}` && !isTakenUnused(row, runs))
}

/** Returns true for a `taken` row whose run was not stopped. Then the log must have the input. */
function isTakenUnused(row: InboxRecord, runs: readonly RunRecord[]): boolean {
  return row.kind === 'taken' && runs.every((run) => run.id !== row.body.runId || run.stop === undefined)
}

function countByContent({ runs, log, inbox }: SessionEnd, { method, content }: AcknowledgedInput): number {
  if (method === 'overlay') {
    const characters = textOf(content).length
    const shown = log.filter((event) => event.type === 'runtime-input' && event.source === 'overlay' && event.characters === characters)
    return shown.length + inbox.filter((row) => row.kind === 'overlay' && sameContent(row.body.input, content)).length
  }
  const ofRuns = runs.filter((run) => sameContent(run.input, content)).length
  const inLog = log.filter(
    (event) => event.type === 'runtime-input' && event.source !== 'overlay' && sameContent(event.message, content),
  ).length
  return ofRuns + inLog + inbox.filter((row) => row.kind === 'steer' && sameContent(row.body.input, content)).length
}

function sameContent(message: unknown, content: AcknowledgedInput['content']): boolean {
  if (typeof message !== 'object' || message === null || !('content' in message)) return false
  return hashJson(message.content as JSONValue) === hashJson(content as unknown as JSONValue)
}

function textOf(content: AcknowledgedInput['content']): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

export const nothingIsLeftInTheInbox: Invariant = {
  name: 'a session without an open run has no unread inbox rows',
  check: ({ sessions }: CrashEnd) =>
    sessions.flatMap(({ record, runs, inbox }) => {
      if (record.expiredAt !== undefined || runs.some((run) => run.endedAt === undefined)) return []
      const waitsForTasks = sessions.some((other) =>
        other.runs.some((run) => run.parent?.session === record.key && run.endedAt === undefined),
      )
      const left = inbox.filter(({ kind }) => kind === 'steer' || (kind === 'child-settled' && !waitsForTasks))
      return left.map(({ id }) => `${record.key}: the inbox row ${id} is unread, but no run is open`)
    }),
}
