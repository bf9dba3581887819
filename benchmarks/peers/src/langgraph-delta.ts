import { Annotation, DeltaChannel, messagesDeltaReducer } from '@langchain/langgraph'
import { contenderOf } from './langgraph.ts'

/** Stores what each step adds to the messages, and from time to time all of them. */
export const deltaState = { stateSchema: Annotation.Root({ messages: () => new DeltaChannel(messagesDeltaReducer) }) }

/** The same agent with its messages in a delta channel. */
export const contender = contenderOf(deltaState)
