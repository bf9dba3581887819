import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type {
  AssistantMessage,
  ContentItem,
  ContentPart,
  Message,
  Repair,
  RepairCode,
  ToolOutput,
  UserMessage,
} from '../messages.ts'
import { assistantContent } from './assistant-content.ts'
import { toPromptFileData } from './file-data.ts'
import { handedOffId, originOf } from './hand-off.ts'
import type { Instructions, ToPromptOptions } from './options.ts'
import { pairCalls, type PairedCall, type PairedCalls } from './pair-calls.ts'
import { Repairs } from './repairs.ts'
import { wellFormed } from './unicode.ts'

const noResult: ToolOutput = { type: 'error-text', value: 'No result was recorded for this call.' }

type InstructionBlocks = Exclude<Instructions, string>

type UserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]

/**
 * Converts a transcript to a provider prompt that every provider takes: each call has its result right behind it, ids
 * are unique, nothing is empty. It must be pure: the same input gives the same bytes and is not changed. What had to be
 * changed is listed in `repairs`.
 */
export function toPrompt(options: ToPromptOptions): { prompt: LanguageModelV4Prompt; repairs: Repair[] } {
  const { messages } = options
  const repairs = new Repairs()
  const pairs = pairCalls(messages, repairs)
  const providerCalls = sendableProviderCalls(messages)
  const converted = messages.flatMap((message, messageIndex): LanguageModelV4Message[] => {
    switch (message.role) {
      case 'user':
        return userMessage(message, messageIndex, repairs)
      case 'assistant':
        return assistantMessages(message, messageIndex, { options, pairs, providerCalls, repairs })
      case 'tool-result':
        return []
      default:
        return unknownRole(message, messageIndex, repairs)
    }
  })
  const byIndex = (a: Repair, b: Repair): number => a.messageIndex - b.messageIndex
  return { prompt: [...systemMessages(options.instructions), ...converted], repairs: repairs.list.sort(byIndex) }
}

function systemMessages(instructions: Instructions | undefined): LanguageModelV4Message[] {
  const blocks: InstructionBlocks = typeof instructions === 'string' ? [{ text: instructions }] : (instructions ?? [])
  return blocks
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, providerOptions }) => ({
      role: 'system',
      content: text.toWellFormed(),
      ...(providerOptions && { providerOptions }),
    }))
}

function unknownRole(_message: never, messageIndex: number, repairs: Repairs): LanguageModelV4Message[] {
  repairs.add('unknown-role', messageIndex)
  return []
}

function userMessage(message: UserMessage, messageIndex: number, repairs: Repairs): LanguageModelV4Message[] {
  const given: readonly ContentPart[] =
    typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
  const content = given.flatMap((part) => userPart(part, messageIndex, repairs) ?? [])
  if (content.length === 0) {
    repairs.add('dropped-message', messageIndex)
    return []
  }
  return [{ role: 'user', content, ...(message.providerOptions && { providerOptions: message.providerOptions }) }]
}

function userPart(part: ContentPart, messageIndex: number, repairs: Repairs): UserPart | undefined {
  const options = part.providerOptions && { providerOptions: part.providerOptions }
  switch (part.type) {
    case 'text':
      if (part.text.trim() === '') return repairs.add('empty-content', messageIndex)
      return { type: 'text', text: wellFormed(part.text, () => repairs.add('bad-unicode', messageIndex)), ...options }
    case 'file': {
      const { type, mediaType, filename } = part
      const data = toPromptFileData(part.data)
      if (!data) return repairs.add('file-unsupported', messageIndex)
      return { type, mediaType, data, ...(filename && { filename }), ...options }
    }
    default:
      return unknownPart(part, messageIndex, repairs)
  }
}

function unknownPart(_part: never, messageIndex: number, repairs: Repairs): undefined {
  repairs.add('foreign-part', messageIndex)
}

interface Context {
  readonly options: ToPromptOptions
  readonly pairs: PairedCalls
  readonly providerCalls: ReadonlySet<string>
  readonly repairs: Repairs
}

/** An assistant message with, right behind it, one message with the results of its calls in their order. */
function assistantMessages(
  message: AssistantMessage,
  messageIndex: number,
  context: Context,
): LanguageModelV4Message[] {
  const { options, repairs } = context
  const allCalls = context.pairs.get(messageIndex) ?? []
  const keep = keptShare(message, allCalls, options)
  if (keep === 'nothing') {
    repairs.add('dropped-message', messageIndex)
    return []
  }
  const calls = keep === 'whole' ? allCalls : settledCalls(allCalls, repairs)
  const content = assistantContent(message, {
    model: options.model,
    foreignReasoning: options.history?.foreignReasoning ?? 'drop',
    messageIndex,
    calls,
    providerCalls: context.providerCalls,
    cutShort: keep === 'settled',
    repairs,
  })
  if (content.length === 0) {
    repairs.add('dropped-message', messageIndex)
    return []
  }
  const assistant: LanguageModelV4Message = { role: 'assistant', content }
  if (calls.length === 0) return [assistant]
  const origin = originOf(message, options.model)
  return [
    assistant,
    { role: 'tool', content: calls.map((call) => resultPart(call, handedOffId(call.toolCallId, origin), context)) },
  ]
}

/** How much of a message is shown: of one that was cut short only what is settled. */
function keptShare(
  message: AssistantMessage,
  calls: readonly PairedCall[],
  { history }: ToPromptOptions,
): 'whole' | 'settled' | 'nothing' {
  switch (message.stopReason) {
    case 'aborted':
      return history?.aborted === 'drop' ? 'nothing' : 'settled'
    case 'error':
      return history?.errored === 'keep' || calls.some((call) => call.result) ? 'settled' : 'nothing'
    default:
      return 'whole'
  }
}

function settledCalls(calls: readonly PairedCall[], repairs: Repairs): PairedCall[] {
  return calls.filter((call) => {
    if (call.result && !call.part.invalid) return true
    repairs.add('dropped-call', call.messageIndex, call.part.toolCallId)
    return false
  })
}

function resultPart(
  call: PairedCall,
  toolCallId: string,
  { options, repairs }: Context,
): LanguageModelV4ToolResultPart {
  const { part, messageIndex, result } = call
  if (!result) repairs.add('missing-result', messageIndex, part.toolCallId)
  if (toolCallId !== call.toolCallId) repairs.add('renamed-call', messageIndex, part.toolCallId)
  const note = (code: RepairCode): undefined =>
    repairs.add(code, options.messages.indexOf(result as Message), part.toolCallId)
  return {
    type: 'tool-result',
    toolCallId,
    toolName: part.toolName,
    output: toolOutput(result?.output ?? noResult, note),
  }
}

function toolOutput(
  output: ToolOutput,
  note: (code: RepairCode) => undefined,
): LanguageModelV4ToolResultPart['output'] {
  const noteUnicode = (): undefined => note('bad-unicode')
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: wellFormed(output.value, noteUnicode) }
    case 'json':
    case 'error-json':
      return { type: output.type, value: wellFormed(output.value, noteUnicode) }
    case 'execution-denied':
      return {
        type: output.type,
        ...(output.reason !== undefined && { reason: wellFormed(output.reason, noteUnicode) }),
      }
    case 'content':
      return { type: output.type, value: output.value.flatMap((item) => contentItem(item, note) ?? []) }
  }
}

function contentItem(item: ContentItem, note: (code: RepairCode) => undefined): UserPart | undefined {
  const options = item.providerOptions && { providerOptions: item.providerOptions }
  if (item.type === 'text') return { type: 'text', text: wellFormed(item.text, () => note('bad-unicode')), ...options }
  const { type, mediaType, filename } = item
  const data = toPromptFileData(item.data)
  return data
    ? { type, mediaType, data, ...(filename !== undefined && { filename }), ...options }
    : note('file-unsupported')
}

/** Provider-executed calls that have a result somewhere, and those that a paused last message leaves open. */
function sendableProviderCalls(messages: readonly Message[]): Set<string> {
  const last = messages.at(-1)
  const open = last?.role === 'assistant' && last.paused ? last.content : []
  const parts = messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.filter((part) => part?.type === 'tool-result') : [],
  )
  return new Set([...parts, ...open].flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])))
}
