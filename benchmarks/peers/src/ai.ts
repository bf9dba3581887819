import { isStepCount, tool, ToolLoopAgent, type TextStreamPart, type ToolSet } from 'ai'
import { z } from 'zod'
import { nothingSeen, toolDescription, toolName, type Contender, type Seen, type Watch } from '../../src/contender.ts'
import { answersModel, drain } from '../../src/models.ts'

/** Agent of the AI SDK with its own kind of model. */
export const contender: Contender = {
  packageUrl: import.meta.resolve('ai'),
  prepare(answers) {
    const model = answersModel(answers)
    const write = tool({ description: toolDescription, inputSchema: z.object({ text: z.string() }), execute: () => 'done' })
    const agent = new ToolLoopAgent({ model, tools: { [toolName]: write }, stopWhen: isStepCount(answers.length + 1) })
    return {
      bare: (watch) => drain(model, watch),
      async run(watch) {
        const { fullStream } = await agent.stream({ prompt: 'go' })
        return readParts(fullStream, watch)
      },
      async runWithReaders(readers) {
        const result = await agent.stream({ prompt: 'go' })
        return Promise.all(Array.from({ length: readers }, () => readParts(result.fullStream, {})))
      },
    }
  },
}

async function readParts(parts: AsyncIterable<TextStreamPart<ToolSet>>, watch: Watch): Promise<Seen> {
  const seen = nothingSeen()
  for await (const part of parts) count(part, seen, watch)
  return seen
}

function count(part: TextStreamPart<ToolSet>, seen: Seen, { onText, onToolResult }: Watch): void {
  if (part.type === 'error') throw part.error
  if (part.type === 'text-delta') {
    seen.textDeltas += 1
    onText?.()
  } else if (part.type === 'tool-input-delta') {
    seen.argumentDeltas += 1
  } else if (part.type === 'tool-result') {
    seen.toolResults += 1
    onToolResult?.()
  }
}
