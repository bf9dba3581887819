import { defineAgent } from '@bowline/agent-loop'
import type { Message } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import type { ModelMessage } from 'ai'

function toHistory(messages: readonly ModelMessage[], at = Date.now()): Message[] {
  return messages.flatMap((message, place): Message[] => {
    const { role, content } = message
    if (role === 'user') return [{ role, content: typeof content === 'string' ? content : content.filter((part) => part.type === 'text') }]
    if (role === 'tool') return content.flatMap((part) => (part.type === 'tool-result' ? { role: 'tool-result' as const, toolCallId: part.toolCallId, toolName: part.toolName, output: part.output as never } : []))
    if (role !== 'assistant') return [] // the system prompt is in `instructions`
    const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content.filter(({ type }) => type === 'text' || type === 'tool-call')
    const stopReason = parts.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
    return [{ role, id: `old-${place}`, content: parts as never, provider: 'ai-sdk', modelId: 'unknown', stopReason, usage: {}, at, timing: { totalMs: 0 } }]
  })
}

const model = scriptedModel([{ text: 'You asked about Oslo.' }])
const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model })] })
const old: ModelMessage[] = [{ role: 'user', content: 'How is Oslo?' }, { role: 'assistant', content: 'Sunny.' }]
const run = await runtime.session('room:2', { history: toHistory(old) }).send('What did I ask?')
console.log((await run.result()).text, model.calls[0]?.prompt.length) // → You asked about Oslo. 3
await runtime.stop()

export {}
