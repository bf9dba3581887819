import type { UserMessage } from '@bowline/llm'
import { orderOf } from './input.ts'
import type { AgentInput, Answers } from './options.ts'

/** An input as a frozen copy in its one stored form. Throws `invalid-input`. */
export function parseInput(input: AgentInput): UserMessage | Answers {
  const order = orderOf(input)
  if (order.kind === 'message') return order.message
  return { toolResults: order.kind === 'answers' ? order.results : [] }
}
