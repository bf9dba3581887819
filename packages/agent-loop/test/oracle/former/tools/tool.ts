import type { Tool, ToolFields, toolMarker } from '../contract/agent.ts'

const marker: typeof toolMarker = Symbol.for('bowline.agent-loop.tool') as never

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && marker in value
}

export function makeTool(fields: ToolFields): Tool {
  return Object.freeze({ ...fields, [marker]: true as const })
}
