import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type { AssistantMessage, Message, Repair, RepairCode, UserMessage } from '../messages.ts'
import { assistantContent } from './assistant-content.ts'
import { callIdsOf, type CallIds } from './call-ids.ts'
import { checkToPromptOptions } from './check-options.ts'
import { originOf } from './hand-off.ts'
import { isCutShort, keptCalls, keptShare, type KeptShare } from './kept-share.ts'
import type { HistoryOptions, Instructions, ToPromptOptions } from './options.ts'
import { noCalls, pairCalls, type CallsOfMessage, type PairedCall } from './pair-calls.ts'
import { providerPartsOf, type ProviderParts } from './provider-calls.ts'
import { Repairs } from './repairs.ts'
import { missingResult, toolOutput } from './tool-output.ts'
import { userContent } from './user-content.ts'
import { vendorRulesOf, type VendorRules } from './vendor-rules.ts'

type InstructionBlocks = Exclude<Instructions, string>

interface Kept {
  readonly share: KeptShare
  readonly calls: CallsOfMessage
}

/** Facts about the whole transcript, determined before single messages are converted. */
interface Context {
  readonly options: ToPromptOptions
  /** For each assistant message by index: how much of it is sent, and which calls. */
  readonly kept: readonly Kept[]
  readonly providerParts: ProviderParts
  readonly rules: VendorRules
  readonly repairs: Repairs
}

const noHistory: HistoryOptions = {}
const nothingKept: Kept = { share: 'nothing', calls: noCalls }
const noPlaces: ReadonlyMap<number, string> = new Map()

/**
 * Converts a transcript to a prompt that every provider accepts: each call has its result directly after it, ids are unique,
 * nothing is empty. It is pure: the same input gives the same bytes and is not changed. `repairs` lists the changes. Throws
 * `LlmError` for options and messages of a wrong shape.
 */
export function toPrompt(options: ToPromptOptions): { prompt: LanguageModelV4Prompt; repairs: Repair[] } {
  checkToPromptOptions(options)
  return wholePrompt(options)
}

/** Like `toPrompt`, for checked options. */
export function wholePrompt(options: ToPromptOptions): { prompt: LanguageModelV4Prompt; repairs: Repair[] } {
  const system = systemMessages(options.instructions)
  const { prompt, repairs } = convertMessages(options, system.at(-1)?.role)
  return { prompt: [...system, ...prompt], repairs }
}

type Role = LanguageModelV4Message['role']

/**
 * Converts messages without instructions. `roleBefore`: role of the message that precedes them. `ids`: ids under which calls are
 * sent.
 */
export function convertMessages(
  given: ToPromptOptions,
  roleBefore: Role | undefined,
): { prompt: LanguageModelV4Message[]; repairs: Repair[]; ids: CallIds } {
  // A copy, because iterating over frozen arrays is slow.
  const options = { ...given, messages: given.messages.slice() }
  const ids = callIdsOf(options.messages, options.model)
  const context = contextOf(options, ids)
  const prompt: LanguageModelV4Message[] = []
  for (const [messageIndex, message] of options.messages.entries()) {
    prompt.push(...convertMessage(message, messageIndex, context, prompt.at(-1)?.role ?? roleBefore))
  }
  return { prompt, repairs: context.repairs.inOrder(), ids }
}

function contextOf(options: ToPromptOptions, ids: CallIds): Context {
  const { messages, model, history } = options
  const repairs = new Repairs()
  const pairs = pairCalls(messages, ids, repairs)
  const kept = messages.map((message, messageIndex): Kept => {
    if (message.role !== 'assistant') return nothingKept
    const calls = pairs[messageIndex] ?? noCalls
    const share = keptShare(message, calls, history)
    return { share, calls: keptCalls(share, calls) }
  })
  const providerParts = providerPartsOf(messages, {
    model,
    ids,
    isKept: (messageIndex) => kept[messageIndex]?.share !== 'nothing',
    hasCalls: (messageIndex) => kept[messageIndex]?.calls.some(isThere) ?? false,
  })
  return { options, kept, providerParts, rules: vendorRulesOf(model.provider), repairs }
}

export function systemMessages(instructions: Instructions | undefined): LanguageModelV4Prompt {
  const blocks: InstructionBlocks = typeof instructions === 'string' ? [{ text: instructions }] : (instructions ?? [])
  return blocks
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, providerOptions }) => ({
      role: 'system',
      content: text.toWellFormed(),
      ...(providerOptions && { providerOptions }),
    }))
}

function convertMessage(message: Message, messageIndex: number, context: Context, roleBefore: Role | undefined): LanguageModelV4Message[] {
  switch (message.role) {
    case 'user':
      return userMessage(message, messageIndex, context)
    case 'assistant':
      return assistantMessages(message, messageIndex, context, roleBefore)
    case 'tool-result':
      return []
    default:
      return unknownRole(message, messageIndex, context)
  }
}

function unknownRole(_message: never, messageIndex: number, { repairs }: Context): LanguageModelV4Message[] {
  repairs.add('unknown-role', messageIndex)
  return []
}

function userMessage(message: UserMessage, messageIndex: number, { options, repairs }: Context): LanguageModelV4Message[] {
  const content = userContent(message, options.model.input, (code) => repairs.add(code, messageIndex))
  if (content.length === 0) {
    repairs.add('dropped-message', messageIndex)
    return []
  }
  return [{ role: 'user', content, ...(message.providerOptions && { providerOptions: message.providerOptions }) }]
}

/** Returns an assistant message, directly followed by one message with the results of its calls, in call order. */
function assistantMessages(
  message: AssistantMessage,
  messageIndex: number,
  context: Context,
  roleBefore: Role | undefined,
): LanguageModelV4Message[] {
  const { options, rules, repairs } = context
  const { share, calls } = context.kept[messageIndex] ?? nothingKept
  const content =
    share === 'nothing'
      ? []
      : assistantContent(message, {
          input: options.model.input,
          history: options.history ?? noHistory,
          origin: originOf(message, options.model),
          calls,
          providerParts: context.providerParts.get(messageIndex) ?? noPlaces,
          cutShort: isCutShort(message),
          refusesBlankText: rules.refusesBlankText,
          note: (code, toolCallId) => repairs.add(code, messageIndex, toolCallId),
        })
  if (content.length === 0) {
    repairs.add('dropped-message', messageIndex)
    return []
  }
  const assistant: LanguageModelV4Message = { role: 'assistant', content }
  const sent = calls.filter(isThere)
  if (sent.length === 0) return [assistant]
  const results: LanguageModelV4Message = {
    role: 'tool',
    content: sent.map((call) => resultPart(call, context)),
  }
  const isBehindTurn = roleBefore === 'user' || roleBefore === 'tool'
  if (isBehindTurn || !rules.wantsTurnBeforeCalls) return [assistant, results]
  repairs.add('added-turn', messageIndex)
  return [{ role: 'user', content: [{ type: 'text', text: 'Continue.' }] }, assistant, results]
}

function isThere(call: PairedCall | undefined): call is PairedCall {
  return call !== undefined
}

function resultPart(call: PairedCall, { options, rules, repairs }: Context): LanguageModelV4ToolResultPart {
  const { part, messageIndex, result, toolCallId } = call
  if (!result) repairs.add('missing-result', messageIndex, part.toolCallId)
  const output = toolOutput(result?.message.output ?? missingResult, {
    input: options.model.input,
    wantsOneText: rules.wantsOneTextPerResult,
    note: (code: RepairCode) => repairs.add(code, result?.messageIndex ?? messageIndex, part.toolCallId),
  })
  return { type: 'tool-result', toolCallId, toolName: part.toolName.toWellFormed(), output }
}
