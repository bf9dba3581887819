import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { memory, memoryStateStore } from '@bowline/sessions'

const scope = ({ context }: { readonly context?: unknown }) => ({ user: (context as { readonly user?: string } | undefined)?.user })
const model = scriptedModel([{ toolCalls: [{ name: 'memory_search', input: { text: 'cat' } }] }, { text: 'I do not know.' }])
const agent = defineAgent({ model, extensions: [memory({ store: memoryStateStore(), scope })] })
for await (const event of agent.run('What is my cat called?', { context: {} })) {
  if (event.type === 'tool-execution-end' && event.message.output.type === 'error-text') console.log(event.message.output.value)
}
// → scope().user must be a text of 1 to 200 bytes; received undefined.

export {}
