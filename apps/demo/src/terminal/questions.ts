import type { ApprovalRequest, PendingToolCall, RunView } from '@bowline/agent-loop/events'
import type { ClientSession } from '@bowline/client'
import type { JSONValue } from '@bowline/llm'
import { toolLabel } from '../tool-labels.ts'
import { short } from './print-event.ts'

/** Question of a run to a person. */
export interface Question {
  readonly id: string
  /** Subject of the question, for people. */
  readonly text: string
  /** Valid answers, shown at the prompt. */
  readonly prompt: string
  /** Arguments as JSON, for `e` (edit). */
  readonly draft?: string
  /** Answers the question. Resolves with false if the line is not a valid answer. Rejects if the server refuses it. */
  readonly answer: (line: string, session: ClientSession) => Promise<boolean>
}

/** Returns the open questions of a session, oldest first. */
export function questionsOf({
  pendingApprovals,
  pendingToolCalls,
}: Pick<RunView, 'pendingApprovals' | 'pendingToolCalls'>): readonly Question[] {
  return [...pendingApprovals.map(approval), ...pendingToolCalls.map((call) => (call.unknown ? recovery(call) : remoteCall(call)))]
}

function approval({ approvalId, toolName, input, agent }: ApprovalRequest): Question {
  return {
    id: approvalId,
    text: `? ${[...agent, toolLabel(toolName)].join(' › ')} ${short(input)}`,
    prompt: 'y: allow, n: deny, e: edit, or say something else > ',
    draft: JSON.stringify(input),
    async answer(line, session) {
      if (line === 'y') await session.approve(approvalId)
      else if (line === 'n') await session.deny(approvalId, { reason: 'denied in the terminal' })
      else if (line.startsWith('{')) await session.approve(approvalId, { input: readJson(line) })
      else return false
      return true
    },
  }
}

function remoteCall(call: PendingToolCall): Question {
  return {
    id: call.toolCallId,
    text: `? ${toolLabel(call.toolName)} ${short(call.input)}`,
    prompt: 'your place, or nothing to keep it to yourself > ',
    async answer(line, session) {
      await session.submitToolResults([{ ...call, ...(line === '' ? { error: 'The reader declines.' } : { output: { place: line } }) }])
      return true
    },
  }
}

function recovery({ toolCallId, toolName, input, path }: PendingToolCall): Question {
  const placed = path.length > 0 ? { path } : {}
  return {
    id: toolCallId,
    text: `? The server died in ${toolLabel(toolName)} ${short(input)}: what became of it?`,
    prompt: 'y: it happened, n: it did not, run it again, u: nobody knows > ',
    async answer(line, session) {
      if (line === 'y') await session.resolveTool(toolCallId, { result: 'It happened, as a person has seen.', ...placed })
      else if (line === 'n') await session.resolveTool(toolCallId, { runAgain: true, ...placed })
      else if (line === 'u') await session.resolveTool(toolCallId, { unknown: true, ...placed })
      else return false
      return true
    },
  }
}

function readJson(line: string): JSONValue {
  try {
    return JSON.parse(line) as JSONValue
  } catch {
    throw new Error('These arguments are no JSON.')
  }
}
