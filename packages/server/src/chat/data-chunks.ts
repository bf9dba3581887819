import type { AgentEvent } from '@bowline/agent-loop'
import type { UiChunk } from './ui-chunk.ts'

/** Fields that identify a part of a page. The next event with the same id replaces the part. */
const idFields = ['childRunId', 'compactionId', 'approvalId', 'inputId'] as const

/** Returns a data chunk for an event that has no chunk in the AI SDK. It holds all fields except the position in the log. */
export function dataChunk(event: AgentEvent & { readonly cursor?: string }): UiChunk {
  const {
    type,
    cursor: _cursor,
    seq: _seq,
    commit: _commit,
    runId: _runId,
    turn: _turn,
    ...data
  } = event as typeof event & { readonly runId?: string; readonly turn?: number }
  const id = idFields.map((field) => (data as Readonly<Record<string, unknown>>)[field]).find((value) => typeof value === 'string')
  return { type: `data-${type}`, ...(id !== undefined && { id }), data }
}
