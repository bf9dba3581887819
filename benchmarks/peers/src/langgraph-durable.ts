import { isToolMessage, type BaseMessage } from '@langchain/core/messages'
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { storedResult, type Answer, type DurableContender, type Opened } from '../../src/contender.ts'
import { AnswersModel, input, readChunks, stepLimit, writeTool, type AgentState } from './langgraph.ts'

/** Prebuilt agent of LangGraph. Each turn is a thread. A step begins when the checkpoint of the previous one is stored. */
export const contender: DurableContender = durableContenderOf({})

/** Creates the contender. `state` may put its messages into another kind of channel. */
export function durableContenderOf(state: AgentState): DurableContender {
  return {
    async open(answers, file) {
      const checkpointSaver = SqliteSaver.fromConnString(file)
      // The first use creates the tables.
      await checkpointSaver.getTuple({ configurable: { thread_id: 'none' } })
      return openThreads(answers, checkpointSaver, state, async () => void checkpointSaver.db.close())
    },
  }
}

/** Opens an agent that stores its turns with this saver. */
export function openThreads(answers: readonly Answer[], checkpointSaver: BaseCheckpointSaver, state: AgentState, close: Opened['close']): Opened {
  const agent = createReactAgent({ llm: new AnswersModel(answers), tools: [writeTool(storedResult)], checkpointSaver, ...state })
  const options = { streamMode: 'messages', durability: 'sync', recursionLimit: stepLimit(answers) } as const
  return {
    run: async (id, watch) => readChunks(await agent.stream(input, { ...options, configurable: { thread_id: id } }), watch),
    async storedToolResults(id) {
      const { values } = await agent.getState({ configurable: { thread_id: id } })
      return ((values as { readonly messages?: readonly BaseMessage[] }).messages ?? []).filter(isToolMessage).length
    },
    close,
  }
}
