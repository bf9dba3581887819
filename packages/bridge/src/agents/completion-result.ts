import type { AssistantMessage, Usage } from '@bowline/llm'
import type { PromptResult, StopReason } from '../agent.ts'
import { BridgeError } from '../errors.ts'
import { modelFailure } from '../model-failure.ts'

/** What one model call without tools says to a caller. Throws when it failed. */
export function completionResult(message: AssistantMessage, agentId: string): PromptResult {
  const result = (stopReason: StopReason): PromptResult => ({
    text: message.content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    stopReason,
    ...reportedUsage(message.usage),
    ...(message.cost && { cost: message.cost }),
  })
  switch (message.stopReason) {
    case 'stop':
      return result('end_turn')
    case 'length':
      return result('max_tokens')
    case 'aborted':
      return result('cancelled')
    case 'tool-calls': {
      const details = { agentId, reason: 'tool-calls' }
      throw new BridgeError('UPSTREAM', `The model of agent ${agentId} called a tool although it has none`, { details })
    }
    case 'error':
      if (message.error) throw modelFailure(message.error, agentId)
      throw new BridgeError('UPSTREAM', `Agent ${agentId} failed`, { details: { agentId } })
    default: {
      const unknown: never = message.stopReason
      return unknown
    }
  }
}

/** Absent without numbers. For callers a count is never missing next to another. The provider's own words stay here. */
function reportedUsage({ raw: _raw, estimated, ...counts }: Usage): Pick<PromptResult, 'usage'> {
  if (Object.keys(counts).length === 0) return {}
  return { usage: { inputTokens: 0, outputTokens: 0, ...counts, ...(estimated && { estimated }) } }
}
