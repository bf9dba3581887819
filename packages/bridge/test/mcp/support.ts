import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { McpServer } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'
import type { BridgeAgent, BridgeOptions } from '../../src/index.ts'
import { createBridgeMcpServer, type BridgeUser } from '../../src/mcp/index.ts'
import { startBridge, testAgent, type TestBridge } from '../support.ts'

/** A message as sent to the client. */
export interface WireMessage {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly progressToken?: number; readonly progress: number; readonly total?: number; readonly message: string }
  readonly result?: CallToolResult
}

export interface Connected extends TestBridge {
  readonly client: Client
  /** All messages sent to the client. */
  readonly wire: readonly WireMessage[]
  call(name: string, input?: object, options?: CallOptions): Promise<CallToolResult>
}

type CallOptions = Parameters<Client['callTool']>[1]

/** Connects a client in this process to a bridge with a manual clock. */
export async function connect(agents: readonly BridgeAgent[], options: BridgeOptions = {}, user: BridgeUser = {}): Promise<Connected> {
  const started = await startBridge(agents, options)
  return { ...started, ...(await connectTo(started, user)) }
}

export async function connectTo(started: TestBridge, user: BridgeUser = {}): Promise<Pick<Connected, 'client' | 'wire' | 'call'>> {
  const server = (await createBridgeMcpServer(started.bridge, user)({ era: 'legacy' })) as McpServer
  const [near, far] = InMemoryTransport.createLinkedPair()
  const wire: WireMessage[] = []
  const send = far.send.bind(far)
  far.send = async (message, sendOptions) => {
    wire.push(message as WireMessage)
    await send(message, sendOptions)
  }
  const client = new Client({ name: 'test', version: '1.0.0' })
  await Promise.all([server.connect(far as never), client.connect(near)])
  onTestFinished(() => client.close())
  const call: Connected['call'] = (name, input = {}, callOptions = {}) =>
    client.callTool({ name, arguments: input as Record<string, unknown> }, callOptions)
  return { client, wire, call }
}

export function textOf(result: CallToolResult): string {
  const [block, ...more] = result.content
  if (block?.type !== 'text' || more.length > 0) throw new Error('expected one text block')
  return block.text
}

export interface ErrorEnvelope {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly next: string
  readonly details: Readonly<Record<string, unknown>>
}

/** Returns the error of a failed call, read from its text only. */
export function errorOf(result: CallToolResult): ErrorEnvelope {
  if (!result.isError) throw new Error(`expected a failure, got ${textOf(result)}`)
  return (JSON.parse(textOf(result)) as { error: ErrorEnvelope }).error
}

export function contentOf<T = Record<string, unknown>>(result: CallToolResult): T {
  if (result.isError) throw new Error(textOf(result))
  return result.structuredContent as T
}

export interface HeldAgent {
  readonly agent: BridgeAgent
  /** Resolves when a prompt has begun. */
  readonly began: Promise<void>
  /** Makes the agent answer. */
  finish(text: string): void
  /** Reasons of all cancels so far. */
  readonly cancels: readonly string[]
  readonly cancelled: Promise<void>
}

/** An agent that answers when the test says so, or when it is cancelled. */
export function heldAgent(id: string): HeldAgent {
  const began = Promise.withResolvers<void>()
  const cancelled = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<string>()
  const cancels: string[] = []
  const agent = testAgent(id, {
    onPrompt: async ({ abortSignal }) => {
      began.resolve()
      abortSignal.addEventListener('abort', () => answer.resolve(''), { once: true })
      return { text: await answer.promise, stopReason: 'end_turn' }
    },
    onCancel: ({ reason }) => {
      cancels.push(reason)
      cancelled.resolve()
    },
  })
  return { agent, began: began.promise, finish: answer.resolve, cancels, cancelled: cancelled.promise }
}
