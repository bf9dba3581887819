import type { LanguageModelV4CallOptions } from '@bowline/llm'

type PromptMessage = LanguageModelV4CallOptions['prompt'][number]

/** Returns the roles of a request, in order. */
export function rolesOf(call: LanguageModelV4CallOptions | undefined): readonly string[] {
  return (call?.prompt ?? []).map((message) => message.role)
}

/** Returns tool call ids and outputs of a request, in order. */
export function resultsOf(call: LanguageModelV4CallOptions | undefined): readonly { id: string; output: unknown }[] {
  return (call?.prompt ?? []).flatMap((message) => (message.role === 'tool' ? toolResults(message) : []))
}

/** Returns all text of a request. */
export function textOfRequest(call: LanguageModelV4CallOptions | undefined): string {
  return JSON.stringify(call?.prompt ?? [])
}

function toolResults(message: Extract<PromptMessage, { role: 'tool' }>): readonly { id: string; output: unknown }[] {
  return message.content.flatMap((part) => (part.type === 'tool-result' ? { id: part.toolCallId, output: part.output } : []))
}

/** Returns the texts of the user messages of a request, in order. */
export function userTexts(call: LanguageModelV4CallOptions | undefined): readonly string[] {
  return (call?.prompt ?? []).flatMap((message) =>
    message.role === 'user' ? message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [],
  )
}
