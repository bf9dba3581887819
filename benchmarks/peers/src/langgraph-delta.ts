import { Annotation, DeltaChannel, messagesDeltaReducer } from '@langchain/langgraph'
import { contenderOf } from './langgraph.ts'

/** State that stores the messages that each step adds, and sometimes all messages. */
export const deltaState = { stateSchema: Annotation.Root({ messages: () => new DeltaChannel(messagesDeltaReducer) }) }

/** Same agent with its messages in a delta channel. */
export const contender = contenderOf(deltaState)
