import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineAgent } from '@bowline/agent-loop'
import type { AgentEvent, AgentOptions } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import type { Script, ScriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import type { Runtime, RuntimeOptions, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { onTestFinished } from 'vitest'
import { createBridge, inProcessExecutor } from '../src/index.ts'
import type { Bridge, BridgeAgent, BridgeOptions, BridgeEvent, PromptContext, SessionContext } from '../src/index.ts'
import { recordingLogger } from './support.ts'

/** Runs cleanups after the test, in reverse order. */
export function later(cleanUp: () => Promise<unknown>): void {
  onTestFinished(async () => void (await cleanUp()))
}

export type WriterOptions = Partial<AgentOptions> & { readonly store?: SessionStore } & Pick<RuntimeOptions, 'onDefinitionChange'>

/** Starts a runtime with the agent `writer`. */
export async function startWriter(
  steps: Script | ScriptedModel,
  { store = memoryStore(), onDefinitionChange, ...options }: WriterOptions = {},
): Promise<Runtime> {
  const model = 'doStream' in steps ? steps : scriptedModel(steps)
  const writer = defineAgent({ name: 'writer', model, instructions: 'Write.', abortGraceMs: 10, ...options })
  const runtime = createRuntime({ agents: [writer], store, ...(onDefinitionChange && { onDefinitionChange }) })
  await runtime.start()
  later(() => runtime.stop({ graceMs: 0 }))
  return runtime
}

export async function startBridgeOver(agent: BridgeAgent, options: BridgeOptions = {}): Promise<Bridge> {
  const bridge = createBridge({ executors: [inProcessExecutor({ agents: [agent] })], logger: recordingLogger(), ...options })
  await bridge.start()
  later(() => bridge.stop({ deadlineMs: 1000 }))
  return bridge
}

export async function temporaryFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bowline-bridge-'))
  later(() => rm(folder, { recursive: true }))
  return join(folder, 'sessions.db')
}

export function sessionOf(sessionId = 'bs_1', parts: Partial<SessionContext> = {}): SessionContext {
  const standard = { agentId: 'writer', owner: 'local', metadata: { team: 'red' }, createdAt: 0, depth: 0, path: [] }
  return { sessionId, conversationId: sessionId, ...standard, ...parts }
}

export function promptOf(requestId: string, parts: Partial<PromptContext> = {}): PromptContext {
  const prompt = parts.answers ? '' : 'Write a line.'
  return { session: sessionOf(), requestId, prompt, runtimeParams: {}, abortSignal: new AbortController().signal, ...parts }
}

export async function bridgeEvents(agent: BridgeAgent, request: PromptContext): Promise<BridgeEvent[]> {
  const events: BridgeEvent[] = []
  for await (const event of agent.onPrompt(request) as AsyncIterable<BridgeEvent>) events.push(event)
  return events
}

export async function eventsOf(agent: BridgeAgent, request: PromptContext): Promise<AgentEvent[]> {
  return (await bridgeEvents(agent, request)).flatMap((event) => (event.type === 'agent-event' ? [event.event] : []))
}
