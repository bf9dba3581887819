import type { RunInfo, SessionStore } from '@bowline/sessions'
import { textOf } from './part-chunks.ts'
import type { Chunks, UiChunk } from './ui-chunk.ts'

/** Returns the answers given so far to a run that waits for more. A page shows them, but no event contains them yet. */
export async function givenAnswers(store: SessionStore, { session, runId }: RunInfo): Promise<Chunks> {
  const rows = await store.readInbox(session, ['answer', 'decision'])
  return rows.flatMap((row): Chunks => {
    if (row.kind === 'answer' && row.id === `answer:${runId}:${row.body.toolCallId}`) return outcomeOf(row.body.toolCallId, row.body.answer)
    if (row.kind !== 'decision' || row.id !== `decision:${runId}:${row.body.approvalId}`) return []
    const { approvalId, decision, reason } = row.body
    return [{ type: 'tool-approval-response', approvalId, approved: decision === 'approve', ...(reason !== undefined && { reason }) }]
  })
}

function outcomeOf(toolCallId: string, answer: Readonly<Record<string, unknown>>): readonly UiChunk[] {
  const { output, error, isError, unknown } = answer
  if (unknown === true) return []
  if (error !== undefined || isError === true) return [{ type: 'tool-output-error', toolCallId, errorText: textOf(error ?? output) }]
  return [{ type: 'tool-output-available', toolCallId, output: isContent(output) ? output.value : output }]
}

function isContent(output: unknown): output is { readonly value: unknown } {
  return typeof output === 'object' && output !== null && 'value' in output && (output as { readonly type?: unknown }).type === 'content'
}
