import type { LanguageModelV4 } from '@ai-sdk/provider'
import { Agent, type AgentConfig } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { nothingSeen, toolDescription, toolName, type Contender, type Seen, type Watch } from '../../src/contender.ts'
import { answersModel, drain } from '../../src/models.ts'

/** Agent of Mastra with a model of the AI SDK. */
export const contender: Contender = {
  packageUrl: import.meta.resolve('@mastra/core/agent'),
  prepare(answers) {
    const model = answersModel(answers)
    const agent = new Agent(agentConfig(model, 'done'))
    return {
      bare: (watch) => drain(model, watch),
      async run(watch) {
        const { fullStream } = await agent.stream('go', { maxSteps: answers.length + 1 })
        return readChunks(fullStream, watch)
      },
      async runWithReaders(readers) {
        const output = await agent.stream('go', { maxSteps: answers.length + 1 })
        return Promise.all(Array.from({ length: readers }, () => readChunks(output.fullStream, {})))
      },
    }
  },
}

export function agentConfig(model: LanguageModelV4, result: string) {
  const write = createTool({
    id: toolName,
    description: toolDescription,
    inputSchema: z.object({ text: z.string() }),
    execute: () => Promise.resolve(result),
  })
  return { id: 'contender', name: 'contender', instructions: '', model: model as AgentConfig['model'], tools: { [toolName]: write } }
}

interface Chunk {
  readonly type: string
  readonly payload?: unknown
}

export async function readChunks(chunks: AsyncIterable<Chunk>, watch: Watch): Promise<Seen> {
  const seen = nothingSeen()
  for await (const chunk of chunks) count(chunk, seen, watch)
  return seen
}

function count(chunk: Chunk, seen: Seen, { onText, onToolResult }: Watch): void {
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
