import type { AgentEvent } from '@bowline/agent-loop'
import type { UiChunk } from './ui-chunk.ts'

/** Under these a page keeps one part, which the next event of the same id replaces. */
const idFields = ['childRunId', 'compactionId', 'approvalId', 'inputId'] as const

/** An event that the AI SDK has no chunk for, with all that it says besides its place in the log. */
export function dataChunk(event: AgentEvent & { readonly cursor?: string }): UiChunk {
  const { type, cursor: _cursor, seq: _seq, commit: _commit, runId: _runId, turn: _turn, ...data } = event as typeof event & { readonly runId?: string; readonly turn?: number }
  const id = idFields.map((field) => (data as Readonly<Record<string, unknown>>)[field]).find((value) => typeof value === 'string')
  return { type: `data-${type}`, ...(id !== undefined && { id }), data }
}
