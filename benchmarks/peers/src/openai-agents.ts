import { Agent, run, setTracingDisabled, tool, Usage, type Model, type ModelRequest, type RunStreamEvent, type StreamEvent } from '@openai/agents'
import { z } from 'zod'
import {
  answerAfter,
  argumentDelta,
  argumentsText,
  nothingSeen,
  textDelta,
  toolDescription,
  toolName,
  valuesOf,
  type Answer,
  type Contender,
  type Seen,
  type Watch,
} from '../../src/contender.ts'

// Otherwise it sends every run to its vendor.
setTracingDisabled(true)

/** Agents SDK of OpenAI with the benchmark's model. */
export const contender: Contender = {
  packageUrl: import.meta.resolve('@openai/agents'),
  prepare(answers) {
    const model: Model = {
      getResponse: () => Promise.reject(new Error('The benchmark model only streams')),
      getStreamedResponse(request) {
        const step = toolResultsIn(request)
        return streamOf(answerAfter(answers, step), step)
      },
    }
    const write = tool({ name: toolName, description: toolDescription, parameters: z.object({ text: z.string() }), execute: () => 'done' })
    const agent = new Agent({ name: 'contender', model, tools: [write] })
    return {
      async bare({ onText }) {
        for await (const event of streamOf(answerAfter(answers, 0), 0)) if (event.type === 'output_text_delta') onText?.()
      },
      async run(watch) {
        const result = await run(agent, 'go', { stream: true, maxTurns: answers.length + 1 })
        const seen = nothingSeen()
        for await (const event of result) count(event, seen, watch)
        await result.completed
        return seen
      },
      runWithReaders: { unable: 'the stream of its result has one reader' },
    }
  },
}

function toolResultsIn({ input }: ModelRequest): number {
  if (typeof input === 'string') return 0
  let results = 0
  for (const item of input) if (item.type === 'function_call_result') results += 1
  return results
}

function count(event: RunStreamEvent, seen: Seen, { onText, onToolResult }: Watch): void {
  if (event.type === 'raw_model_stream_event') {
    if (event.data.type === 'output_text_delta') {
      seen.textDeltas += 1
      onText?.()
    } else if (event.data.type === 'model') {
      seen.argumentDeltas += 1
    }
  } else if (event.type === 'run_item_stream_event' && event.name === 'tool_output') {
    seen.toolResults += 1
    onToolResult?.()
  }
}

/** Streams an answer. Argument deltas have no own event here: they are sent as raw events of the model. */
function streamOf(answer: Answer, step: number): AsyncIterable<StreamEvent> {
  const text = answer.text ?? 0
  const input = answer.arguments === undefined ? '' : argumentsText(answer.arguments)
  const deltas = text + (answer.arguments ?? 0)
  return valuesOf<StreamEvent>(deltas + 2, (position) => {
    if (position === 0) return { type: 'response_started' }
    if (position > deltas) return doneEvent(text, input, step)
    if (position <= text) return { type: 'output_text_delta', delta: textDelta }
    const delta = argumentDelta(input, position - 1 - text)
    return { type: 'model', event: { type: 'response.function_call_arguments.delta', delta } }
  })
}

function doneEvent(text: number, input: string, step: number): StreamEvent {
  const message = {
    type: 'message' as const,
    role: 'assistant' as const,
    status: 'completed' as const,
    content: [{ type: 'output_text' as const, text: textDelta.repeat(text) }],
  }
  const call = { type: 'function_call' as const, callId: `call-${step}`, name: toolName, arguments: input, status: 'completed' as const }
  const output = [...(text > 0 ? [message] : []), ...(input === '' ? [] : [call])]
  const usage = new Usage({ requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 })
  return { type: 'response_done', response: { id: `response-${step}`, usage, output } }
}
