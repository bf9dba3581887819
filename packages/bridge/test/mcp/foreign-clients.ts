import { createMCPClient } from '@ai-sdk/mcp'
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio'
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OlderStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OlderHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** A uniform interface over MCP clients of other vendors. */
export interface ForeignClient {
  tools(): Promise<readonly string[]>
  call(name: string, input: object, options?: ForeignCallOptions): Promise<ForeignResult>
  close(): Promise<void>
}

export interface ForeignCallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (note: { readonly progress: number; readonly message?: string }) => void
}

export interface ForeignResult {
  readonly isError: boolean
  readonly text: string
  readonly structured: unknown
}

/** Address of a server: arguments for Node that start it, or its URL. */
export type Target = { readonly args: readonly string[] } | { readonly url: string }

export interface ForeignClientKind {
  readonly name: string
  readonly connect: (target: Target) => Promise<ForeignClient>
  readonly hasProgress: boolean
  /** Whether an abort reaches the server, as a notification or by closing the response stream. */
  readonly abortTells: { readonly stdio: boolean; readonly http: boolean }
}

export const foreignClients: readonly ForeignClientKind[] = [
  {
    name: '@modelcontextprotocol/client 2, protocol of 2025',
    connect: (target) => connectNewer(target, { versionNegotiation: { mode: 'legacy' } }),
    hasProgress: true,
    abortTells: { stdio: true, http: false },
  },
  {
    name: '@modelcontextprotocol/client 2, protocol of 2026',
    connect: (target) => connectNewer(target, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
    hasProgress: true,
    abortTells: { stdio: true, http: true },
  },
  {
    name: '@modelcontextprotocol/sdk 1',
    connect: connectOlder,
    hasProgress: true,
    abortTells: { stdio: true, http: false },
  },
  {
    name: '@ai-sdk/mcp',
    connect: connectAiSdk,
    hasProgress: false,
    abortTells: { stdio: false, http: true },
  },
]

const info = { name: 'test', version: '1.0.0' }

function processOf(args: readonly string[]) {
  return { command: process.execPath, args: [...args], env: process.env as Record<string, string>, stderr: 'ignore' as const }
}

async function connectNewer(target: Target, options: ClientOptions): Promise<ForeignClient> {
  const client = new Client(info, options)
  await client.connect(
    'url' in target ? new StreamableHTTPClientTransport(new URL(target.url)) : new StdioClientTransport(processOf(target.args)),
  )
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input, callOptions) =>
      resultOf(
        await client.callTool({ name, arguments: input as Record<string, unknown> }, callOptions as Parameters<Client['callTool']>[1]),
      ),
    close: () => client.close(),
  }
}

async function connectOlder(target: Target): Promise<ForeignClient> {
  const client = new OlderClient(info)
  const transport = 'url' in target ? new OlderHttpTransport(new URL(target.url)) : new OlderStdioTransport(processOf(target.args))
  await client.connect(transport)
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input, callOptions) =>
      resultOf(
        await client.callTool(
          { name, arguments: input as Record<string, unknown> },
          undefined,
          callOptions as Parameters<OlderClient['callTool']>[2],
        ),
      ),
    close: () => client.close(),
  }
}

async function connectAiSdk(target: Target): Promise<ForeignClient> {
  const transport = 'url' in target ? ({ type: 'http', url: target.url } as const) : new StdioMCPTransport(processOf(target.args))
  const client = await createMCPClient({ transport })
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input, { signal } = {}) =>
      resultOf(await client.callTool({ name, arguments: input as Record<string, unknown>, ...(signal && { options: { signal } }) })),
    close: () => client.close(),
  }
}

function resultOf(result: object): ForeignResult {
  const { content, isError, structuredContent } = result as { content: { text: string }[]; isError?: boolean; structuredContent?: unknown }
  return { isError: isError ?? false, text: content[0]?.text ?? '', structured: structuredContent }
}
