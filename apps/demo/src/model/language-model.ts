import type { LanguageModelV4 } from '@bowline/llm'

/** The parts of the public model interface that the offline model is made of. */
export type { LanguageModelV4 }
export type CallOptions = Parameters<LanguageModelV4['doStream']>[0]
export type StreamResult = Awaited<ReturnType<LanguageModelV4['doStream']>>
export type StreamPart = StreamResult['stream'] extends ReadableStream<infer Part> ? Part : never
export type GenerateResult = Awaited<ReturnType<LanguageModelV4['doGenerate']>>
export type Prompt = CallOptions['prompt']
export type ToolMessage = Extract<Prompt[number], { role: 'tool' }>
export type ToolOutput = Extract<ToolMessage['content'][number], { type: 'tool-result' }>['output']
