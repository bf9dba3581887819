import { z } from 'zod'
import { defineTool } from '../../src/index.ts'
import type { Tool, ToolContext, ToolEffect } from '../../src/index.ts'

const anything = z.looseObject({})

/** Creates a tool that returns its name and records its calls. */
export function echo(name: string, options: { effect?: ToolEffect; sequential?: boolean; concurrency?: number } = {}) {
  const calls: ToolContext[] = []
  const tool = defineTool({
    name,
    description: `says ${name}`,
    inputSchema: anything,
    ...options,
    execute: (_input, context) => {
      calls.push(context)
      return Promise.resolve(`${name} said`)
    },
  })
  return Object.assign({ calls }, { tool })
}

export function remote(name: string, options: { timeoutMs?: number } = {}): Tool {
  return defineTool({ name, description: `${name} is elsewhere`, inputSchema: anything, ...options })
}

/** Creates a tool that ends when the test says so. */
export function gated(name: string, options: { effect?: ToolEffect; sequential?: boolean; concurrency?: number } = {}) {
  const started: string[] = []
  const gates = new Map<string, () => void>()
  const tool = defineTool({
    name,
    description: `waits as ${name}`,
    inputSchema: anything,
    ...options,
    execute: (_input, { toolCallId }) => {
      started.push(toolCallId)
      return new Promise<string>((resolve) => gates.set(toolCallId, () => resolve(`${toolCallId} done`)))
    },
  })
  return {
    tool,
    started,
    open: (toolCallId: string) => gates.get(toolCallId)?.(),
  }
}

/** Returns a promise and its resolver. */
export function latch<T = void>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  return Promise.withResolvers<T>()
}

const patienceMs = 10_000

/** Waits until the condition holds, one turn of the event loop at a time. */
export async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + patienceMs
  while (!condition()) {
    if (Date.now() > end) throw new Error('the condition never held')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
