import type { agentLoop, AgentEvent, AgentTool } from '@mariozechner/pi-agent-core'
import type {
  AssistantMessage,
  AssistantMessageEvent,
  AssistantMessageEventStream,
  Message,
  Model,
  parseStreamingJson,
  TextContent,
  ToolCall,
  Type,
} from '@mariozechner/pi-ai'
import {
  answerAfter,
  argumentDelta,
  argumentsText,
  countRole,
  eventsOf,
  nothingSeen,
  textDelta,
  toolDescription,
  toolName,
  type Answer,
  type Contender,
  type Seen,
  type Watch,
} from '../../src/contender.ts'

/** Parts of pi that the benchmark calls, with the types of version 0.73. */
export interface Pi {
  readonly agentLoop: typeof agentLoop
  readonly parseStreamingJson: typeof parseStreamingJson
  readonly Type: typeof Type
  readonly packageUrl: string
}

/** Loop of pi with the benchmark's stream function. */
export function contenderOf(pi: Pi): Contender {
  const write = writeTool(pi)
  return {
    packageUrl: pi.packageUrl,
    prepare(answers) {
      const streamAfter = (step: number) => messageStream(pi, answerAfter(answers, step), step)
      return {
        async bare({ onText }) {
          for await (const event of streamAfter(0)) if (event.type === 'text_delta') onText?.()
        },
        async run(watch) {
          const prompt = { role: 'user' as const, content: 'go', timestamp: Date.now() }
          // The loop requires a conversion. All messages already have the form that the model takes.
          const config = { model, convertToLlm: (messages: unknown[]) => messages as Message[] }
          const context = { systemPrompt: '', messages: [], tools: [write] }
          const events = pi.agentLoop([prompt], context, config, undefined, (_model, { messages }) => streamAfter(countRole(messages, 'toolResult')))
          const seen = nothingSeen()
          for await (const event of events) count(event, seen, watch)
          return seen
        },
        runWithReaders: { unable: 'its event stream has one reader' },
      }
    },
  }
}

const model: Model<'benchmark'> = {
  id: 'answers',
  name: 'answers',
  api: 'benchmark',
  provider: 'benchmark',
  baseUrl: '',
  reasoning: false,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000,
  maxTokens: 1_000_000,
}

function writeTool({ Type: type }: Pi): AgentTool {
  return {
    name: toolName,
    label: toolName,
    description: toolDescription,
    parameters: type.Object({ text: type.String() }),
    execute: () => Promise.resolve({ content: [{ type: 'text', text: 'done' }], details: undefined }),
  }
}

function count(event: AgentEvent, seen: Seen, { onText, onToolResult }: Watch): void {
  if (event.type === 'message_update') {
    if (event.assistantMessageEvent.type === 'text_delta') {
      seen.textDeltas += 1
      onText?.()
    } else if (event.assistantMessageEvent.type === 'toolcall_delta') {
      seen.argumentDeltas += 1
    }
  } else if (event.type === 'tool_execution_end' && !event.isError) {
    seen.toolResults += 1
    onToolResult?.()
  }
}

/** Streams an answer like the providers of pi: one message grows, and each argument delta parses all arguments so far. */
function messageStream(pi: Pi, answer: Answer, step: number): AssistantMessageEventStream {
  const partial = emptyMessage()
  const block: TextContent = { type: 'text', text: '' }
  const toolCall: ToolCall = { type: 'toolCall', id: `call-${step}`, name: toolName, arguments: {} }
  const input = argumentsText(answer.arguments ?? 1)
  let soFar = ''
  let contentIndex = 0
  const iterable = eventsOf<AssistantMessageEvent>(answer, {
    first: () => ({ type: 'start', partial }),
    text(offset) {
      if (offset === 0) {
        contentIndex = partial.content.push(block) - 1
        return { type: 'text_start', contentIndex, partial }
      }
      if (offset > (answer.text ?? 0)) return { type: 'text_end', contentIndex, content: block.text, partial }
      block.text += textDelta
      return { type: 'text_delta', contentIndex, delta: textDelta, partial }
    },
    call(offset) {
      if (offset === 0) {
        contentIndex = partial.content.push(toolCall) - 1
        return { type: 'toolcall_start', contentIndex, partial }
      }
      if (offset > (answer.arguments ?? 0)) return { type: 'toolcall_end', contentIndex, toolCall, partial }
      const delta = argumentDelta(input, offset - 1)
      soFar += delta
      toolCall.arguments = pi.parseStreamingJson(soFar)
      return { type: 'toolcall_delta', contentIndex, delta, partial }
    },
    last() {
      const reason = answer.arguments === undefined ? 'stop' : 'toolUse'
      partial.stopReason = reason
      return { type: 'done', reason, message: partial }
    },
  })
  // The loop calls only these two members. The class also has a queue, which the benchmark leaves out.
  const stream = { [Symbol.asyncIterator]: () => iterable, result: () => Promise.resolve(partial) }
  return stream as Partial<AssistantMessageEventStream> as AssistantMessageEventStream
}

function emptyMessage(): AssistantMessage {
  return {
    role: 'assistant',
    content: [],
    api: 'benchmark',
    provider: 'benchmark',
    model: 'answers',
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
    stopReason: 'stop',
    timestamp: Date.now(),
  }
}
