import type { AssistantMessage, Message, ToolCallPart, ToolResultMessage } from '../messages.ts'
import type { Repairs } from './repairs.ts'

/** A tool call of the transcript with the result that belongs to it. */
export interface PairedCall {
  readonly part: ToolCallPart
  readonly messageIndex: number
  /** Unique in the whole transcript. */
  readonly toolCallId: string
  result: ToolResultMessage | undefined
}

/** The calls of each assistant message that the caller had to run, in order, by the message's index. */
export type PairedCalls = ReadonlyMap<number, readonly PairedCall[]>

/**
 * Pairs results with calls in the order of the transcript: a result belongs to the first unanswered call of its id that
 * stands before it. Ids that were used twice are made unique.
 */
export function pairCalls(messages: readonly Message[], repairs: Repairs): PairedCalls {
  const callsOfMessage = new Map<number, PairedCall[]>()
  const callsOfId = new Map<string, PairedCall[]>()
  const seenIds = new Set<string>()
  let callsSince: PairedCall[] = []

  for (const [messageIndex, message] of messages.entries()) {
    if (message.role === 'assistant') {
      callsSince = clientCalls(message).flatMap((part) => {
        if (!part.toolCallId || !part.toolName) {
          repairs.add('dropped-call', messageIndex, part.toolCallId)
          return []
        }
        const toolCallId = freeId(part.toolCallId, seenIds)
        if (toolCallId !== part.toolCallId) repairs.add('renamed-call', messageIndex, part.toolCallId)
        const call: PairedCall = { part, messageIndex, toolCallId, result: undefined }
        callsOfId.set(part.toolCallId, [...(callsOfId.get(part.toolCallId) ?? []), call])
        return [call]
      })
      callsOfMessage.set(messageIndex, callsSince)
    } else if (message.role === 'tool-result') {
      const calls = callsOfId.get(message.toolCallId) ?? []
      const call = calls.find(({ result }) => result === undefined)
      if (call) {
        call.result = message
        if (!callsSince.includes(call)) repairs.add('moved-result', messageIndex, message.toolCallId)
      } else {
        repairs.add(calls.length > 0 ? 'duplicate-result' : 'orphan-result', messageIndex, message.toolCallId)
      }
    } else {
      callsSince = []
    }
  }
  return callsOfMessage
}

function clientCalls(message: AssistantMessage): ToolCallPart[] {
  return message.content.filter((part): part is ToolCallPart => part?.type === 'tool-call' && !part.providerExecuted)
}

function freeId(id: string, taken: Set<string>): string {
  let free = id
  for (let n = 2; taken.has(free); n++) free = `${id}_${n}`
  taken.add(free)
  return free
}
