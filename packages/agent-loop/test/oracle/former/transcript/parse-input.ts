import type { UserMessage } from '@bowline/llm'
import { refuseInput } from '../base/check-input.ts'
import type { AgentInput, Answers } from '../contract/input.ts'
import { orderOf } from './input.ts'

/** An input as a frozen copy in its one stored form. Throws `invalid-input`. */
export function parseInput(input: AgentInput): UserMessage | Answers {
  const order = orderOf(input)
  switch (order.kind) {
    case 'message':
      return order.message
    case 'answers': {
      const { results, approvals } = order
      return Object.freeze({
        ...(results.length > 0 && { toolResults: results }),
        ...(approvals.length > 0 && { approvals }),
      })
    }
    case 'resume':
      return refuseInput('input must be given; received undefined')
    default: {
      const unknown: never = order
      return unknown
    }
  }
}
