import { deltaState } from './langgraph-delta.ts'
import { durableContenderOf } from './langgraph-durable.ts'

/** The same agent with its messages in a delta channel: a checkpoint holds what its step has added. */
export const contender = durableContenderOf(deltaState)
