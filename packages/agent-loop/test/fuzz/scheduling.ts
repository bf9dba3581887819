import type { ToolContext } from '../../src/index.ts'
import type { World } from './world.ts'

/** A call that a tool is executing. */
export interface Executing {
  readonly run: string
  readonly toolName: string
  readonly signal: AbortSignal
}

/** Claims that a call may start beside the executing ones. Returns a function that ends it. */
export function startExecuting(world: World, { toolName, runId, agent, abortSignal: signal }: ToolContext): () => void {
  const run = [runId, ...agent].join(' ')
  // The loop does not wait for a call that it has stopped.
  const others = [...world.executing].filter((each) => each.run === run && !each.signal.aborted)
  const isBeside = (name: string): boolean => others.some((each) => each.toolName === name)
  world.claim(toolName !== 'single' || !isBeside('single'), 'A55: two calls of a tool with the concurrency 1 ran at once')
  world.claim(agent.length > 0 || others.length < world.toolConcurrency, `A55: ${others.length + 1} calls ran at once`)
  world.claim(
    !isBeside('alone') && (toolName !== 'alone' || others.length === 0),
    `A56: ${toolName} ran beside ${others.map((each) => each.toolName).join()}`,
  )
  const executing = { run, toolName, signal }
  world.executing.add(executing)
  return () => void world.executing.delete(executing)
}
