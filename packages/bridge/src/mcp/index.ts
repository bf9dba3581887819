import { createMcpHandler, InMemoryServerEventBus, McpServer } from '@modelcontextprotocol/server'
import type { McpHttpHandler, McpServerFactory } from '@modelcontextprotocol/server'
import type { Bridge } from '../bridge-contract.ts'
import type { BridgeUser } from './bridge-view.ts'
import { httpHandler, serverFactory, type BridgeMcpHandlerOptions, type OnError } from './server.ts'

export type { BridgeMcpHandlerOptions, BridgeUser }

const sdk = { createMcpHandler, InMemoryServerEventBus, McpServer }

/**
 * Returns a server factory for the MCP SDK: `serveStdio(factory)` over stdio, `createBridgeMcpHandler(factory)` over HTTP. A
 * connection keeps no state of its own. Its instructions name the agents that exist when the connection starts; the description of
 * `agents_discover` names the current ones. If they change, a client gets `notifications/tools/list_changed`: over stdio on its
 * connection, over HTTP on its streams of `subscriptions/listen`, which exist since the protocol of 2026.
 */
export function createBridgeMcpServer(bridge: Bridge, user?: BridgeUser, onerror?: OnError): McpServerFactory {
  return serverFactory(sdk, bridge, user, onerror)
}

/**
 * Creates an HTTP handler for the factory, with the SDK's `createMcpHandler`. Each stream starts immediately with a comment and
 * `retry`, so that no proxy or client times out while an agent works.
 */
export function createBridgeMcpHandler(factory: McpServerFactory, options?: BridgeMcpHandlerOptions): McpHttpHandler {
  return httpHandler(sdk, factory, options)
}
