import { isToolMessage, type BaseMessage } from '@langchain/core/messages'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { storedResult, type DurableContender } from '../../src/contender.ts'
import { AnswersModel, input, readChunks, stepLimit, writeTool } from './langgraph.ts'

/** The ready-made agent of LangGraph, each turn a thread: a step begins when the checkpoint of the one before is stored. */
export const contender: DurableContender = {
  async open(answers, file) {
    const checkpointSaver = SqliteSaver.fromConnString(file)
    const storedThread = (id: string) => checkpointSaver.getTuple({ configurable: { thread_id: id } })
    // The first use makes the tables.
    await storedThread('none')
    const agent = createReactAgent({ llm: new AnswersModel(answers), tools: [writeTool(storedResult)], checkpointSaver })
    const options = { streamMode: 'messages', durability: 'sync', recursionLimit: stepLimit(answers) } as const
    return {
      run: async (id, watch) => readChunks(await agent.stream(input, { ...options, configurable: { thread_id: id } }), watch),
      async storedToolResults(id) {
        const messages = ((await storedThread(id))?.checkpoint.channel_values.messages ?? []) as BaseMessage[]
        return messages.filter(isToolMessage).length
      },
      async close() {
        checkpointSaver.db.close()
      },
    }
  },
}
