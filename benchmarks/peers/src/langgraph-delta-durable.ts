import { deltaState } from './langgraph-delta.ts'
import { durableContenderOf } from './langgraph-durable.ts'

/** Same agent with its messages in a delta channel: a checkpoint holds only what its step has added. */
export const contender = durableContenderOf(deltaState)
