import { defineAgent, defineTool, type Agent, type Extension, type Tool } from '@bowline/agent-loop'
import type { Problem } from '@bowline/client'
import { scriptedModel, type Script, type ScriptedModel, type Step } from '@bowline/llm/testing'
import { createServer, type Server, type ServerOptions } from '@bowline/server'
import { serve, type RunningServer, type ServeOptions } from '@bowline/server/node'
import { createRuntime, type Runtime, type RuntimeOptions, type Session, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { Frame } from './frames.ts'

export interface Bench {
  readonly url: string
  readonly runtime: Runtime
  readonly server: Server
  readonly running: RunningServer
  readonly model: ScriptedModel
  /** Errors that were logged. */
  readonly faults: readonly unknown[]
  get(path: string, headers?: Record<string, string>): Promise<Response>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  /** Sends a request to the execute route. */
  execute(body: unknown, headers?: Record<string, string>): Promise<Response>
}

export interface BenchOptions extends Partial<ServerOptions> {
  readonly steps?: Script
  readonly tools?: readonly Tool[]
  readonly extensions?: readonly Extension[]
  /** Time in ms that a stop waits for a tool that does not end. */
  readonly abortGraceMs?: number
  readonly otherAgents?: readonly Agent[]
  readonly store?: SessionStore
  readonly runtimeOptions?: Partial<RuntimeOptions>
  readonly serveOptions?: ServeOptions
  /** Creates the server. Default: `createServer`. */
  readonly make?: (options: ServerOptions) => Server | Promise<Server>
}

/** Creates a runtime that is not started. */
export function idleRuntime(): Runtime {
  return createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })] })
}

/** Starts a server on loopback with a real runtime and a scripted model. It ends with the test. */
export async function bench({
  steps = [],
  tools = [],
  extensions = [],
  abortGraceMs = 20,
  otherAgents = [],
  store = memoryStore(),
  runtimeOptions,
  serveOptions,
  make = createServer,
  ...options
}: BenchOptions = {}): Promise<Bench> {
  const faults: unknown[] = []
  const model = scriptedModel(steps)
  const agent = defineAgent({ name: 'assistant', model, tools, extensions, abortGraceMs })
  const runtime = createRuntime({ agents: [agent, ...otherAgents], store, onError: (error) => faults.push(error), ...runtimeOptions })
  await runtime.start()
  const nothing = (): void => undefined
  const logger = { info: nothing, warn: nothing, error: (fields: object, message: string) => faults.push({ message, ...fields }) }
  const server = await make({ runtime, auth: 'none', logger, ...options })
  const running = await serve(server, { port: 0, ...serveOptions })
  onTestFinished(() => running.close({ drainMs: 0 }))
  const post: Bench['post'] = (path, body, headers = {}) =>
    fetch(running.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return {
    url: running.url,
    runtime,
    server,
    running,
    model,
    faults,
    get: (path, headers = {}) => fetch(running.url + path, { headers }),
    post,
    execute: (body, headers) => post('/api/agent/execute', body, headers),
  }
}

/** From now on, applies this change to the handles of sessions. */
export function change(runtime: Runtime, changed: (session: Session) => Partial<Session>): void {
  const open = runtime.session.bind(runtime)
  const within =
    <Read extends typeof runtime.session>(read: Read) =>
    (...given: Parameters<Read>) => {
      const session = read(...(given as Parameters<typeof runtime.session>))
      return { ...session, ...changed(session) }
    }
  runtime.session = within(open)
  runtime.reader = within(runtime.reader.bind(runtime) as typeof runtime.session)
}

/** Both stores that the tests of a server use. */
export const stores: readonly { readonly name: string; readonly make: () => SessionStore }[] = [
  { name: 'memory', make: memoryStore },
  { name: 'sqlite', make: () => sqliteStore({ file: join(temporaryFolder(), 'data.db') }) },
]

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-server-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const say = (content: string) => ({ role: 'user', content }) as const

/** Checks that the answer is a refusal with the fields of every refusal, and returns its body. */
export async function refusal(response: Response | Promise<Response>, status: number, code: string): Promise<Problem> {
  const answer = await response
  const body = (await answer.json()) as Problem
  expect({ status: answer.status, code: body.code }).toEqual({ status, code })
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(body).toMatchObject({ type: `urn:bowline:problem:${code}`, status, requestId: answer.headers.get('x-request-id') })
  expect(JSON.stringify(body)).not.toMatch(/ {4}at |node_modules|tenant:/)
  return body
}

/**
 * Returns a script whose last step starts when the reader has seen the start of its message. Deltas are only sent live, and a
 * reader that connects later would get the complete message.
 */
export function watchedScript(...steps: readonly Step[]) {
  const watched = gate()
  let begun = 0
  return {
    steps: async (_call: unknown, index: number): Promise<Step> => {
      if (index === steps.length - 1) await watched.passed
      return steps[index] ?? {}
    },
    see: ({ data }: Frame): void => {
      if (data.type === 'message-start' && ++begun === steps.length) watched.open()
    },
  }
}

/** Returns a promise and the function that settles it, for models and tools that the test releases. */
export function gate(): { readonly open: () => void; readonly passed: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { open: resolve, passed: promise }
}

const noInput = { type: 'object', properties: {}, additionalProperties: false } as const

/** Creates a tool that the client must answer. */
export function remoteTool(name: string): Tool {
  return defineTool({ name, description: 'Asks the browser.', inputSchema: noInput })
}

export function localTool(name: string, execute: () => string | Promise<string>): Tool {
  return defineTool({ name, description: 'Runs here.', inputSchema: noInput, effect: 'pure', execute })
}
