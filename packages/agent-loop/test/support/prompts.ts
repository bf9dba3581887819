import type { LanguageModelV4CallOptions } from '@bowline/llm'

type PromptMessage = LanguageModelV4CallOptions['prompt'][number]

/** The roles of a request, in order. */
export function rolesOf(call: LanguageModelV4CallOptions | undefined): readonly string[] {
  return (call?.prompt ?? []).map((message) => message.role)
}

/** Tool call ids and outputs of a request, in order. */
export function resultsOf(call: LanguageModelV4CallOptions | undefined): readonly { id: string; output: unknown }[] {
  return (call?.prompt ?? []).flatMap((message) => (message.role === 'tool' ? toolResults(message) : []))
}

/** All text of a request. */
export function textOfRequest(call: LanguageModelV4CallOptions | undefined): string {
  return JSON.stringify(call?.prompt ?? [])
}

function toolResults(message: Extract<PromptMessage, { role: 'tool' }>): readonly { id: string; output: unknown }[] {
  return message.content.flatMap((part) => (part.type === 'tool-result' ? { id: part.toolCallId, output: part.output } : []))
}

/** The texts of the user messages of a request, in order. */
export function userTexts(call: LanguageModelV4CallOptions | undefined): readonly string[] {
  return (call?.prompt ?? []).flatMap((message) =>
    message.role === 'user' ? message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [],
  )
}
