import { Mastra } from '@mastra/core'
import { DurableAgent } from '@mastra/core/agent/durable'
import type { Answer, DurableContender, Opened } from '../../src/contender.ts'
import { fileStorage, openMemory, resource } from './mastra-memory.ts'
import { readChunks } from './mastra.ts'

/** Durable agent of Mastra. Each turn is a thread. Every step of its run is stored, so that another process can resume it. */
export const contender: DurableContender = {
  open: (answers, file) => openDurable(answers, fileStorage(file)),
}

export async function openDurable(answers: readonly Answer[], storage: Parameters<typeof openMemory>[1]): Promise<Opened> {
  const { agent, storedToolResults, close } = await openMemory(answers, storage)
  // Its shutdown fails if runs were cleaned up before, so they are kept until then.
  const durable = new DurableAgent({ agent, cleanupTimeoutMs: 0 })
  const mastra = new Mastra({ agents: { durable }, storage, recovery: { durableAgents: 'auto' }, logger: false })
  return {
    async run(id, watch) {
      const options = { maxSteps: answers.length + 1, memory: { thread: id, resource } }
      return readChunks((await durable.stream('go', options)).output.fullStream, watch)
    },
    storedToolResults,
    async close() {
      await mastra.shutdown()
      await close()
    },
  }
}
