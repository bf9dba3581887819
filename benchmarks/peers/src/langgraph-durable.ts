import { isToolMessage, type BaseMessage } from '@langchain/core/messages'
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { storedResult, type Answer, type DurableContender, type Opened } from '../../src/contender.ts'
import { AnswersModel, input, readChunks, stepLimit, writeTool, type AgentState } from './langgraph.ts'

/** The ready-made agent of LangGraph, each turn a thread: a step begins when the checkpoint of the one before is stored. */
export const contender: DurableContender = durableContenderOf({})

/** With its list of messages in another kind of channel, if one is given. */
export function durableContenderOf(state: AgentState): DurableContender {
  return {
    async open(answers, file) {
      const checkpointSaver = SqliteSaver.fromConnString(file)
      // The first use makes the tables.
      await checkpointSaver.getTuple({ configurable: { thread_id: 'none' } })
      return openThreads(answers, checkpointSaver, state, async () => void checkpointSaver.db.close())
    },
  }
}

/** An agent whose turns go into this saver. */
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
