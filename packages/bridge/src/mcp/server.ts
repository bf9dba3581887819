import type { FieldChecks } from '@bowline/llm/arguments'
import type * as mcpSdk from '@modelcontextprotocol/server'
import type { McpHttpHandler, McpServer, McpServerFactory, RegisteredTool, ServerContext } from '@modelcontextprotocol/server'
import manifest from '../../package.json' with { type: 'json' }
import { checkBridgeVersion, configChecks as check } from '../arguments.ts'
import type { Bridge, BridgeLimits } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { invalidInput, issuesWith } from '../input/issues.ts'
import { redactionOf } from '../redact.ts'
import type { BridgeRedaction } from '../redact.ts'
import { advertisedSchema } from './advertised-schema.ts'
import { bridgeView, type BridgeUser, type BridgeView } from './bridge-view.ts'
import { failure, success } from './envelope.ts'
import { agentsDiscover } from './agent-tools.ts'
import { agentsNow, instructionsOf } from './instructions.ts'
import { inExchange, listensAs, watchWhileConnected, withAgentEvents } from './listeners.ts'
import type { ProgressSender } from './report-progress.ts'
import type { BridgeTool } from './tool.ts'
import { withCallFacts } from './told-error.ts'
import { bridgeTools } from './tools.ts'

const userChecks: FieldChecks<BridgeUser> = {
  owner: check.optionalName,
  mayUse: check.checkFunction,
  runtimeParams: check.listOf(check.checkName),
}

const bridgeMethods = ['health', 'discover', 'createSession', 'prompt', 'delegate', 'request', 'onAgentsChanged'] as const

/** Values of the SDK, which its user imports: a bundler follows an import of this module, also in a program without MCP. */
export type McpSdk = Pick<typeof mcpSdk, 'createMcpHandler' | 'InMemoryServerEventBus' | 'McpServer'>

/** `createBridgeMcpServer` with the SDK that is given. */
export function serverFactory({ McpServer }: McpSdk, bridge: Bridge, user: BridgeUser = {}, onerror: OnError = () => {}): McpServerFactory {
  checkBridgeVersion('createBridgeMcpServer.bridge', bridge)
  check.requiredMethods(...bridgeMethods)('createBridgeMcpServer.bridge', bridge)
  check.record(userChecks)('createBridgeMcpServer.user', user)
  check.checkFunction('createBridgeMcpServer.onerror', onerror)
  const served = { bridge: bridgeView(bridge, user), redaction: redactionOf(bridge), onerror }
  return async ({ era, requestInfo }) => {
    const instructions = await instructionsOf(served.bridge, served.redaction)
    // The server of one HTTP request cannot tell anything later. A stream of 2026 listens through the handler.
    const isConnection = requestInfo === undefined
    const listChanged = isConnection || (listensAs(served.bridge) && era === 'modern')
    const capabilities = { tools: { listChanged } }
    const server = new McpServer({ name: 'bowline-bridge', version: manifest.version }, { capabilities, instructions })
    for (const each of advertised) {
      const registered = register(server, served, each)
      if (each.tool !== agentsDiscover) continue
      const nameAgents = agentNamer(registered, served)
      watchWhileConnected(server, () => {
        nameAgents()
        return isConnection ? served.bridge.onAgentsChanged(nameAgents) : () => {}
      })
    }
    return server
  }
}

/** Returns a function that writes the agents of now into the description of this tool. A connected server then tells its client. */
function agentNamer(listing: RegisteredTool, { bridge, redaction }: Served): () => void {
  return () => listing.update({ description: `${agentsDiscover.description} ${agentsNow(bridge, redaction)}` })
}

/** Keep-alive time (ms) and error callback of an MCP handler. */
export interface BridgeMcpHandlerOptions {
  /** Idle time in ms after which a comment is sent on a stream. Default: 15,000. */
  readonly keepAliveMs?: number
  /** Called with errors that occur outside of any response. */
  readonly onerror?: OnError
}

const handlerChecks: FieldChecks<BridgeMcpHandlerOptions> = { keepAliveMs: check.whole(1), onerror: check.checkFunction }

/** `createBridgeMcpHandler` with the SDK that is given. */
export function httpHandler(sdk: McpSdk, factory: McpServerFactory, options: BridgeMcpHandlerOptions = {}): McpHttpHandler {
  check.requiredFunction('createBridgeMcpHandler.factory', factory)
  check.record(handlerChecks)('createBridgeMcpHandler.options', options)
  const { keepAliveMs = 15_000, onerror = () => {} } = options
  const bus = withAgentEvents(new sdk.InMemoryServerEventBus(onerror))
  const handler = sdk.createMcpHandler(factory, { keepAliveMs, onerror, responseMode: 'sse', bus })
  return { ...handler, fetch: async (request, context) => opened(await inExchange(() => handler.fetch(ownRequest(request), context))) }
}

/**
 * Returns the request with a signal of its own. The SDK never removes its listener, and Node keeps a signal that another request
 * follows until that request is collected: a listener on it that knows the request would keep both, and a server, for ever.
 */
function ownRequest({ url, method, headers, signal, body, bodyUsed }: Request): Request {
  // A server that has read the body gives it parsed. Made of parts, because the request of a server may be of its own class.
  const unread = body && !bodyUsed ? { body, duplex: 'half' as const } : {}
  return new Request(url, { method, headers, signal, ...unread })
}

// No id: streams cannot be resumed, so a client must not ask for it.
const opening = new TextEncoder().encode('retry: 2000\n: open\n\n')

function opened(response: Response): Response {
  const { body, headers } = response
  if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) return response
  return new Response(body.pipeThrough(new TransformStream({ start: (stream) => stream.enqueue(opening) })), response)
}

/** Receives errors that callers do not see: bugs of the bridge itself. */
export type OnError = (error: unknown) => void

interface Served {
  readonly bridge: BridgeView
  readonly redaction: BridgeRedaction
  readonly onerror: OnError
}

const advertised = bridgeTools.map((tool) => {
  const { title, description, annotations } = tool
  const schemas = { inputSchema: advertisedSchema(tool.input), outputSchema: advertisedSchema(tool.output) }
  return { tool, config: { title, description, annotations, ...schemas } }
})

function register(server: McpServer, served: Served, { tool, config }: (typeof advertised)[number]): RegisteredTool {
  const { bridge, redaction, onerror } = served
  return server.registerTool(tool.name, config, async (input, context) => {
    try {
      const call = { bridge, redaction, abortSignal: context.mcpReq.signal, sendProgress: progressSender(context) }
      return success(checkedOutput(tool, await tool.run(call, checkedInput(tool, input, bridge.limits))))
    } catch (error) {
      if (!BridgeError.isInstance(error)) onerror(error)
      return failure(await withCallFacts(bridge, error, input), redaction)
    }
  })
}

/** Checks the input and returns it as given, not the schema's copy, because agents must get values unchanged. */
function checkedInput(tool: BridgeTool, input: unknown, limits: BridgeLimits): unknown {
  const renamed = withNewNames(input, tool.oldNames)
  const others = typeof renamed === 'object' && renamed !== null ? tool.issues?.(renamed, limits) : undefined
  const issues = [...issuesWith(tool.input, renamed), ...(others ?? [])]
  if (issues.length > 0) throw invalidInput(issues)
  return renamed
}

function checkedOutput(tool: BridgeTool, output: object): object {
  const issues = issuesWith(tool.output, output)
  if (issues.length === 0) return output
  const details = { reason: 'bad-reply', issues: issues.map((issue) => ({ ...issue })) }
  throw new BridgeError('PROTOCOL', `The agent returned data that ${tool.name} cannot answer with`, { details })
}

/** Renames old fields. If a value has both names, the old one stays and is refused as unknown. */
function withNewNames(input: unknown, oldNames: BridgeTool['oldNames'] = {}): unknown {
  if (typeof input !== 'object' || input === null) return input
  const renamed = Object.entries(input).map(([name, value]) => {
    const newName = Object.hasOwn(oldNames, name) ? oldNames[name] : undefined
    return [newName === undefined || newName in input ? name : newName, value] as const
  })
  return Object.fromEntries(renamed)
}

function progressSender({ mcpReq }: ServerContext): ProgressSender | undefined {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  return (note) => {
    const notification = { method: 'notifications/progress' as const, params: { progressToken, ...note } }
    // The client is gone; the signal of the call reports it too.
    mcpReq.notify(notification).catch(() => undefined)
  }
}
