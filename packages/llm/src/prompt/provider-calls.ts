import type { AssistantMessage, AssistantPart, Message } from '../messages.ts'
import type { CallIds } from './call-ids.ts'
import { originOf } from './hand-off.ts'
import { isCutShort } from './kept-share.ts'
import type { ToPromptOptions } from './options.ts'
import { hasPart, isCall } from './parts.ts'

/** Ids of the parts of provider-executed tools to send: by message index, then by position in the content. */
export type ProviderParts = ReadonlyMap<number, ReadonlyMap<number, string>>

const noneOpen: ReadonlyMap<string, OpenCall> = new Map()

interface OpenCall {
  readonly messageIndex: number
  readonly place: number
  readonly toolCallId: string
}

export interface ProviderCallsContext {
  readonly model: ToPromptOptions['model']
  readonly ids: CallIds
  /** Returns whether any part of the message is sent. */
  readonly isKept: (messageIndex: number) => boolean
  /** Returns whether calls of the message that the caller runs are sent. */
  readonly hasCalls: (messageIndex: number) => boolean
}

/**
 * Pairs provider-executed calls with their results. Usually both are in one message. If the provider paused its turn, the result is
 * in the next assistant message; until then, the call is sent without a result.
 */
export function providerPartsOf(messages: readonly Message[], context: ProviderCallsContext): ProviderParts {
  const sent = new Map<number, Map<number, string>>()
  const send = ({ messageIndex, place, toolCallId }: OpenCall): void => {
    const places = sent.get(messageIndex)
    if (places) places.set(place, toolCallId)
    else sent.set(messageIndex, new Map([[place, toolCallId]]))
  }
  let open = noneOpen
  for (const [messageIndex, message] of messages.entries()) {
    if (message.role === 'user') open = noneOpen
    if (message.role !== 'assistant' || !context.isKept(messageIndex)) continue
    const opened =
      hasPart(message.content, isOfProvider) && originOf(message, context.model).same
        ? pairWithin(message, messageIndex, { open, ids: context.ids, send })
        : noneOpen
    const goesOn = message.paused ?? (context.hasCalls(messageIndex) && !isCutShort(message))
    open = goesOn ? opened : noneOpen
  }
  for (const call of open.values()) send(call)
  return sent
}

/** Returns whether the part belongs to a provider-executed tool. */
export function isOfProvider(part: AssistantPart | undefined): boolean {
  return part?.type === 'tool-result' || (isCall(part) && part.providerExecuted === true)
}

/** Sends the pairs that the message completes. Returns the calls that it leaves open. */
function pairWithin(
  message: AssistantMessage,
  messageIndex: number,
  { open, ids, send }: { open: ReadonlyMap<string, OpenCall>; ids: CallIds; send: (call: OpenCall) => void },
): Map<string, OpenCall> {
  const answered = new Set<OpenCall>()
  const opened = new Map<string, OpenCall>()
  for (const [place, part] of message.content.entries()) {
    if (isCall(part) && part.providerExecuted) {
      const toolCallId = ids[messageIndex]?.[place]
      if (toolCallId !== undefined) opened.set(part.toolCallId, { messageIndex, place, toolCallId })
    }
    if (part?.type === 'tool-result') {
      const call = opened.get(part.toolCallId) ?? open.get(part.toolCallId)
      if (!call || answered.has(call)) continue
      answered.add(call)
      opened.delete(part.toolCallId)
      send(call)
      send({ messageIndex, place, toolCallId: call.toolCallId })
    }
  }
  return opened
}
