import type { AssistantMessage, Message, UserMessage } from '@bowline/llm'

/** Bounds of a conversation that is sent to the model. The oldest messages are dropped first. */
export interface HistoryLimits {
  /** Maximum number of messages, questions and answers together. Default 200. */
  readonly maxMessages?: number
  /** Maximum size in UTF-8 bytes of the messages as JSON. Default 1 MiB. */
  readonly maxBytes?: number
}

/** The turns of one conversation. Each is a question with its answer, so that roles alternate. */
export interface ConversationHistory {
  messages(): readonly Message[]
  /** Adds a turn. Drops the oldest whole turns while a limit is exceeded. */
  add(question: UserMessage, answer: AssistantMessage): void
}

interface Turn {
  readonly messages: readonly [UserMessage, AssistantMessage]
  readonly bytes: number
}

export function conversationHistory({ maxMessages, maxBytes }: Required<HistoryLimits>): ConversationHistory {
  const turns: Turn[] = []
  let bytes = 0
  return {
    messages: () => turns.flatMap((turn) => turn.messages),
    add(...messages) {
      const turn = { messages, bytes: bytesOf(messages) }
      turns.push(turn)
      bytes += turn.bytes
      while (turns.length * 2 > maxMessages || bytes > maxBytes) bytes -= turns.shift()?.bytes ?? bytes
    },
  }
}

function bytesOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0)
}
