import type { LanguageModelV4Prompt } from '@bowline/llm'

/** Short names for parts of the public model interface that the offline model uses. */
export type { LanguageModelV4, LanguageModelV4StreamPart as StreamPart } from '@bowline/llm'
export type Prompt = LanguageModelV4Prompt
export type ToolMessage = Extract<Prompt[number], { role: 'tool' }>
export type ToolOutput = Extract<ToolMessage['content'][number], { type: 'tool-result' }>['output']
