import { McpServer } from '@modelcontextprotocol/server'
import type { McpServerFactory, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import type { Bridge } from '../bridge-contract.ts'
import { invalidInput, issuesOf } from '../input/schemas.ts'
import { BridgeError } from '../errors.ts'
import { bridgeView, type BridgeUser } from './bridge-view.ts'
import { failure, success } from './envelope.ts'
import { bridgeTools } from './tools.ts'
import type { BridgeTool } from './tools.ts'

/**
 * Gives the factory that the SDK serves: `serveStdio(factory)`, `createMcpHandler(factory)`. A connection keeps no state of
 * its own.
 */
export function createBridgeMcpServer(bridge: Bridge, user: BridgeUser = {}): McpServerFactory {
  const view = bridgeView(bridge, user)
  return () => {
    const server = new McpServer({ name: 'bowline-bridge', version: manifest.version }, { capabilities: { tools: {} } })
    for (const tool of bridgeTools) register(server, view, tool)
    return server
  }
}

function register(server: McpServer, bridge: Pick<Bridge, 'discover' | 'delegate'>, tool: BridgeTool): void {
  const { title, description, annotations } = tool
  const schemas = { inputSchema: unchecked(tool.input), outputSchema: unchecked(tool.output) }
  server.registerTool(tool.name, { title, description, annotations, ...schemas }, async (input, context) => {
    try {
      const output = await tool.run(bridge, checkedInput(tool, input), context.mcpReq.signal)
      return success(checkedOutput(tool, output))
    } catch (error) {
      return failure(error)
    }
  })
}

/** Advertises the schema and lets every value through, so that a refusal has the bridge's form and not the SDK's. */
function unchecked(schema: z.ZodType): StandardSchemaWithJSON {
  const standard = (schema as unknown as StandardSchemaWithJSON)['~standard']
  return { '~standard': { ...standard, validate: (value: unknown) => ({ value }) } }
}

function checkedInput(tool: BridgeTool, input: unknown): unknown {
  const renamed = withNewNames(input)
  const parsed = tool.input.safeParse(renamed)
  if (!parsed.success) throw invalidInput(issuesOf(parsed.error))
  return renamed
}

function checkedOutput(tool: BridgeTool, output: object): object {
  const parsed = tool.output.safeParse(output)
  if (parsed.success) return output
  const details = { issues: issuesOf(parsed.error).map((issue) => ({ ...issue })) }
  throw new BridgeError('PROTOCOL', `The agent gave what ${tool.name} cannot answer with`, { details })
}

/** `timeout` is an old name of `timeoutMs`. */
function withNewNames(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !('timeout' in input) || 'timeoutMs' in input) return input
  const { timeout, ...rest } = input
  return { ...rest, timeoutMs: timeout }
}
