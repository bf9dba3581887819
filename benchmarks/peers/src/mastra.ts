import { Agent, type AgentConfig } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { nothingSeen, toolDescription, toolName, type Contender, type Seen, type Watch } from '../../src/contender.ts'
import { answersModel, drain } from '../../src/models.ts'

/** The agent of Mastra with a model of the AI SDK. */
export const contender: Contender = {
  prepare(answers) {
    const model = answersModel(answers)
    const write = createTool({
      id: toolName,
      description: toolDescription,
      inputSchema: z.object({ text: z.string() }),
      execute: () => Promise.resolve('done'),
    })
    const agent = new Agent({ id: 'contender', name: 'contender', instructions: '', model: model as AgentConfig['model'], tools: { [toolName]: write } })
    return {
      bare: (watch) => drain(model, watch),
      async run(watch) {
        const { fullStream } = await agent.stream('go', { maxSteps: answers.length + 1 })
        const seen = nothingSeen()
        for await (const chunk of fullStream) count(chunk, seen, watch)
        return seen
      },
    }
  },
}

function count(chunk: { readonly type: string; readonly payload?: unknown }, seen: Seen, { onText, onToolResult }: Watch): void {
  if (chunk.type === 'error') throw new Error(JSON.stringify(chunk.payload))
  if (chunk.type === 'text-delta') {
    seen.textDeltas += 1
    onText?.()
  } else if (chunk.type === 'tool-call-delta') {
    seen.argumentDeltas += 1
  } else if (chunk.type === 'tool-result') {
    seen.toolResults += 1
    onToolResult?.()
  }
}
