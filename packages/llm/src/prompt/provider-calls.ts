import type { AssistantMessage, AssistantPart, Message } from '../messages.ts'
import type { CallIds } from './call-ids.ts'
import { originOf } from './hand-off.ts'
import { isCutShort } from './kept-share.ts'
import type { ToPromptOptions } from './options.ts'
import { hasPart, isCall } from './parts.ts'

/**
 * The parts of tools that the provider ran itself which may be sent, with their ids: by the message's index, then by
 * the part's place in its content.
 */
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
  /** Whether anything of the message is sent. */
  readonly isKept: (messageIndex: number) => boolean
  /** Whether calls of the message that the caller runs are sent. */
  readonly hasCalls: (messageIndex: number) => boolean
}

/**
 * Pairs the calls that the provider runs with their results. Both stand in one message, except when the provider left
 * its turn open, to go on when it is called again: then the result stands in the next assistant message, and until that
 * has come the call is sent without one.
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

/** Of a tool that the provider runs. */
export function isOfProvider(part: AssistantPart | undefined): boolean {
  return part?.type === 'tool-result' || (isCall(part) && part.providerExecuted === true)
}

/** Sends the pairs that the message completes; gives back the calls that it leaves open. */
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
