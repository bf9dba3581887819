import { defineTool } from '@bowline/agent-loop'
import type { Script } from '@bowline/llm/testing'
import { createModels } from '@bowline/llm'
import { scriptedModel, type ScriptedModel } from '@bowline/llm/testing'
import type { Runtime, Session, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { setup, type SetupOptions } from '../../support.ts'

export interface Talk {
  readonly runtime: Runtime
  readonly session: Session
  readonly model: ScriptedModel
  readonly store: SessionStore
  readonly faults: readonly unknown[]
  /** Sends each text and waits for its answer. */
  say(...texts: readonly string[]): Promise<void>
  /** Ids of the messages on the active path, oldest first. */
  ids(): Promise<string[]>
  /** Texts on the active path, oldest first. */
  texts(session?: Session): Promise<string[]>
}

/** Starts a runtime with a session. The model answers `re: <text>` unless told otherwise. */
export async function talk(options: Partial<SetupOptions> = {}): Promise<Talk> {
  const { store = memoryStore() } = options
  const made = setup({ steps: echo, ...options, store })
  await made.runtime.start()
  onTestFinished(() => made.runtime.stop({ graceMs: 0 }))
  const session = made.runtime.session('room:1')
  return {
    ...made,
    session,
    store,
    async say(...texts) {
      for (const text of texts) await (await session.send(text)).result()
    },
    ids: async () => (await session.messages({ limit: 1000 })).items.map((message) => message.id ?? ''),
    texts: (from = session) => textsOf(from),
  }
}

export const echo: Script = (call) => ({ text: `re: ${lastUserText(call.prompt)}` })

export async function textsOf(session: Session, leaf?: string): Promise<string[]> {
  const { items } = await session.messages({ limit: 1000, ...(leaf === undefined ? {} : { leaf }) })
  return items.map((message) => {
    if (message.role === 'tool-result') return `${message.toolCallId}=${JSON.stringify(message.output)}`
    if (typeof message.content === 'string') return message.content
    return message.content.map((part) => (part.type === 'text' ? part.text : part.type)).join('+')
  })
}

function lastUserText(prompt: readonly { readonly role: string; readonly content: unknown }[]): string {
  const last = prompt.filter((message) => message.role === 'user').at(-1)
  return ((last?.content ?? []) as readonly { readonly text?: string }[]).map((part) => part.text ?? '').join('')
}

/** A tool that always returns `seen`. */
export const look = defineTool({
  name: 'look',
  description: 'Looks.',
  inputSchema: z.object({}),
  effect: 'pure',
  execute: () => 'seen',
})

/** Returns options of an agent whose model has a window of 10,000 tokens; a compaction is due above 9,000. */
export function smallWindow(steps: Script) {
  const model = scriptedModel(steps)
  const models = createModels({ providers: { test: { languageModel: () => model } }, models: { 'test:small': { contextWindow: 10_000 } } })
  const compaction = { reserveTokens: 1_000, keepRecentTokens: 50 }
  return {
    model,
    options: { agent: { model: 'test:small', models, compaction, retry: false, runtimeParams: { maxTokens: 500 } } },
  } as const
}

export async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

export async function* fileOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

/** Resolves when no run of the session is queued or running. */
export async function quiet(store: SessionStore, key: string): Promise<void> {
  for (;;) {
    const { promise: changed, resolve } = Promise.withResolvers<unknown>()
    const unsubscribe = store.subscribe(resolve)
    try {
      if ((await store.listRuns(key, { status: ['queued', 'running'] })).items.length === 0) return
      await changed
    } finally {
      unsubscribe()
    }
  }
}
