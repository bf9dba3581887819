import type { AssistantMessage, Usage } from '@bowline/llm'
import type { PromptResult, StopReason } from '../agent.ts'
import { BridgeError } from '../errors.ts'
import { modelFailure } from '../model-failure.ts'
import { withCounts } from '../requests/outcome.ts'

/** Converts one model call without tools to a prompt result. Throws if the call failed. */
export function completionResult(message: AssistantMessage, agentId: string): PromptResult {
  const result = (stopReason: StopReason): PromptResult => ({
    text: message.content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    stopReason,
    ...withCounts(withoutRaw(message.usage)),
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

/** Drops the provider's raw usage, which stays in this process. */
function withoutRaw({ raw: _raw, ...counts }: Usage): Usage {
  const { estimated: _estimated, ...numbers } = counts
  return Object.keys(numbers).length > 0 ? counts : {}
}
