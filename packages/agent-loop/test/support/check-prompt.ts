import { toPrompt } from '@bowline/llm'
import type { LanguageModelV4CallOptions, Message, Repair } from '@bowline/llm'

type Prompt = LanguageModelV4CallOptions['prompt']
type PromptMessage = Prompt[number]
type Content<Role extends PromptMessage['role']> = Extract<PromptMessage, { role: Role }>['content']

export const promptProviders = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const
export type PromptProvider = (typeof promptProviders)[number]

/** Rules of one provider for a history, besides the common ones. */
interface ProviderRules {
  readonly name: string
  readonly ids: RegExp
  readonly check: (prompt: Prompt) => readonly string[]
}

const rules: Readonly<Record<PromptProvider, ProviderRules>> = {
  'openai-chat': { name: 'openai.chat', ids: /^[\w-]{1,40}$/, check: () => [] },
  'openai-responses': { name: 'openai.responses', ids: /^[\w-]{1,64}$/, check: noLoneReasoning },
  anthropic: { name: 'anthropic.messages', ids: /^[\w-]{1,64}$/, check: noBlankText },
  gemini: { name: 'google.generative-ai', ids: /^[\w-]{1,64}$/, check: callsBehindTurns },
}

/**
 * Returns what is wrong with a transcript in the form that the provider gets: repairs of the conversion, calls and results that are
 * not paired, and content that this provider refuses. Content that only another model understands may be left out.
 */
export function checkPrompt(messages: readonly Message[], provider: PromptProvider): readonly string[] {
  const { name, ids, check } = rules[provider]
  const { prompt, repairs } = toPrompt({ messages, model: { provider: name, modelId: 'strict' } })
  return [
    ...repairs
      .filter((repair) => repair.code !== 'foreign-part' && !isCutOff(messages, repair))
      .map(({ code, messageIndex, toolCallId }) => `${messageIndex}: ${code} ${toolCallId ?? ''}`),
    ...pairing(prompt),
    ...callIds(prompt).flatMap((id, place, all) => (all.indexOf(id) === place ? [] : [`the call id ${id} is used twice`])),
    ...callIds(prompt).flatMap((id) => (ids.test(id) ? [] : [`the call id ${id} has a bad form`])),
    ...prompt.flatMap(({ content }, place) => (content.length === 0 ? [`${place}: is empty`] : [])),
    ...check(prompt),
  ]
}

/**
 * Returns whether a repair belongs to a stopped answer: only its settled parts are shown again, without unfinished reasoning or a
 * cut call.
 */
function isCutOff(messages: readonly Message[], { code, messageIndex, toolCallId }: Repair): boolean {
  const message = messages[messageIndex]
  if (message?.role !== 'assistant' || message.stopReason !== 'aborted') return false
  const call = message.content.find((part) => part.type === 'tool-call' && part.toolCallId === toolCallId)
  if (call?.type === 'tool-call') return code === 'dropped-call' && call.invalid !== undefined
  return code === 'empty-content' || code === 'dropped-message'
}

/** Checks that results are in one message directly after their calls, in call order, each with the name of its call. */
function pairing(prompt: Prompt): readonly string[] {
  const problems = prompt.flatMap((message, place) => {
    const before = prompt[place - 1]
    const asked = before?.role === 'assistant' ? callsOf(before.content) : []
    const answered = message.role === 'tool' ? resultsOf(message.content) : []
    return asked.join() === answered.join() ? [] : [`${place}: results ${answered.join()} for calls ${asked.join()}`]
  })
  const last = prompt.at(-1)
  const open = last?.role === 'assistant' ? callsOf(last.content) : []
  return open.length > 0 ? [...problems, `end: no results for ${open.join()}`] : problems
}

function callsOf(content: Content<'assistant'>): readonly string[] {
  return content.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? [`${part.toolCallId} ${part.toolName}`] : []))
}

function resultsOf(content: Content<'tool'>): readonly string[] {
  return content.map((part) => (part.type === 'tool-result' ? `${part.toolCallId} ${part.toolName}` : part.type))
}

function callIds(prompt: Prompt): readonly string[] {
  return prompt.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])) : [],
  )
}

/** Checks that calls follow a user's turn or results, and that a history does not begin with the model. */
function callsBehindTurns(prompt: Prompt): readonly string[] {
  return prompt.flatMap((message, place) => {
    const before = prompt[place - 1]?.role
    const calls = message.role === 'assistant' && callsOf(message.content).length > 0
    return calls && before !== 'user' && before !== 'tool' ? [`${place}: calls behind ${before ?? 'nothing'}`] : []
  })
}

function noBlankText(prompt: Prompt): readonly string[] {
  return prompt.flatMap(({ content }, place) => {
    const texts = typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    return texts.some((text) => text.trim() === '') ? [`${place}: blank text`] : []
  })
}

/** Checks that reasoning is followed by the part that it led to. */
function noLoneReasoning(prompt: Prompt): readonly string[] {
  return prompt.flatMap((message, place) =>
    message.role === 'assistant' && message.content.at(-1)?.type === 'reasoning' ? [`${place}: reasoning without its following part`] : [],
  )
}
