import { Agent } from '@mastra/core/agent'
import type { MastraCompositeStore } from '@mastra/core/storage'
import { LibSQLStore } from '@mastra/libsql'
import { Memory } from '@mastra/memory'
import { storedResult, type Answer, type DurableContender } from '../../src/contender.ts'
import { answersModel } from '../../src/models.ts'
import { agentConfig, readChunks } from './mastra.ts'

/** Agent of Mastra with its message history. Each turn is a thread. Messages are stored at the end of every step. */
export const contender: DurableContender = {
  async open(answers, file) {
    const { agent, storedToolResults, close } = await openMemory(answers, fileStorage(file))
    return {
      async run(id, watch) {
        const options = { maxSteps: answers.length + 1, savePerStep: true, memory: { thread: id, resource } }
        return readChunks((await agent.stream('go', options)).fullStream, watch)
      },
      storedToolResults,
      close,
    }
  },
}

export const resource = 'benchmark'

export function fileStorage(file: string): LibSQLStore {
  return new LibSQLStore({ id: 'benchmark', url: `file:${file}` })
}

/** Opens an agent that stores its messages in this storage. */
export async function openMemory(answers: readonly Answer[], storage: MastraCompositeStore & { close(): Promise<void> }) {
  await storage.init()
  const memory = new Memory({ storage })
  return {
    agent: new Agent({ ...agentConfig(answersModel(answers), storedResult), memory }),
    async storedToolResults(threadId: string) {
      const { messages } = await memory.recall({ threadId, resourceId: resource, perPage: false })
      const parts = messages.flatMap(({ content }) => content.parts)
      return parts.filter((part) => part.type === 'tool-invocation' && part.toolInvocation.state === 'result').length
    },
    async close() {
      await memory.settled()
      await storage.close()
    },
  }
}
