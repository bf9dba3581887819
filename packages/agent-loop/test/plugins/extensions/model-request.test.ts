import { scriptedModel, type Script } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import {
  createMemoryJournal,
  defineAgent,
  defineExtension,
  defineTool,
  summarizeMessages,
  type AgentOptions,
  type ExtensionContext,
  type SentModelRequest,
} from '../../../src/index.ts'

type Seen = SentModelRequest & { readonly step: number; readonly sessionKey: string | undefined }

/** Creates an agent, and notes its requests after everything that changes them. */
function watched(steps: Script, { extensions = [], ...options }: Partial<AgentOptions> = {}) {
  const seen: Seen[] = []
  const watch = defineExtension({
    name: 'watch',
    hooks: { onModelRequest: (sent, { step, sessionKey }) => void seen.push({ ...sent, step, sessionKey }) },
  })
  const model = scriptedModel(steps)
  return { seen, model, agent: defineAgent({ model, instructions: 'Be brief.', extensions: [watch, ...extensions], ...options }) }
}

const sentTo = ({ calls }: ReturnType<typeof watched>['model']) => calls.map(({ abortSignal: _signal, headers: _headers, ...sent }) => sent)

it('D55: onModelRequest sees the request as sent, with changes of other hooks, once for each attempt under the id of its message', async () => {
  const look = defineTool({ name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, execute: () => 'seen' })
  const change = defineExtension({
    name: 'change',
    hooks: {
      beforeModelCall: () => ({ runtimeParams: { temperature: 0.1 } }),
      transformContext: ({ messages }) => ({ messages: [...messages, { role: 'user', content: 'and hurry' }] }),
    },
  })
  const { seen, model, agent } = watched(
    [{ error: { status: 503 } }, { toolCalls: [{ id: 'c', name: 'look', input: {} }] }, { text: 'done' }],
    {
      tools: [look],
      retry: { maxRetries: 1, baseDelayMs: 0 },
      extensions: [change],
    },
  )
  const ids: string[] = []
  for await (const event of agent.run('go', { sessionKey: 'room:1' })) if (event.type === 'message-start') ids.push(event.messageId)
  expect(seen.map(({ id }) => id)).toEqual(ids)
  expect(seen.map(({ request }) => request)).toEqual(sentTo(model))
  expect(seen.map(({ step, attempt, purpose, sessionKey, model: { modelId } }) => [step, attempt, purpose, sessionKey, modelId])).toEqual([
    [1, 1, 'answer', 'room:1', model.modelId],
    [1, 2, 'answer', 'room:1', model.modelId],
    [2, 1, 'answer', 'room:1', model.modelId],
  ])
  expect(seen[0]?.request).toMatchObject({ temperature: 0.1 })
  expect(JSON.stringify(seen[0]?.request.prompt)).toContain('and hurry')
})

it('D55: sees the call of a compaction too, in a turn and between two turns', async () => {
  const long = (): { text: string } => ({ text: 'a long story '.repeat(40) })
  const compaction = { keepRecentTokens: 1 }
  const between = watched(long, { compaction })
  const journal = createMemoryJournal()
  for (const text of ['one', 'two']) await between.agent.run(text, { journal }).result()
  expect(await between.agent.compact({ journal, sessionKey: 'room:1' })).toMatchObject({ outcome: 'done' })
  const ask = defineExtension({ name: 'ask', hooks: { onStepEnd: (_event, { compactAfterTurn }) => compactAfterTurn() } })
  const within = watched(long, { compaction, extensions: [ask] })
  const other = createMemoryJournal()
  for (const text of ['one', 'two']) await within.agent.run(text, { journal: other }).result()
  for (const { seen, model } of [between, within]) {
    expect(seen.at(-1)).toMatchObject({ purpose: 'compaction', attempt: 1, id: expect.stringMatching(/^compaction_/) as string })
    expect(seen.map(({ request }) => request)).toEqual(sentTo(model))
  }
  expect(between.seen.at(-1)).toMatchObject({ sessionKey: 'room:1', step: 0 })
})

const toSummarize = [{ role: 'user', id: 'm1', content: 'where is it' }] as const
const summaryHooks = { id: 'entry_1', sessionKey: 'room:1', turn: 3, onError: () => undefined }

it('D55: sees the call of a summary of messages if its caller names it, with a context that has no run', async () => {
  const contexts: ExtensionContext[] = []
  const keep = defineExtension({ name: 'keep', hooks: { onModelRequest: (_sent, context) => void contexts.push(context) } })
  const { seen, model, agent } = watched(() => ({ text: 'SUMMARY' }), { extensions: [keep] })
  await summarizeMessages(agent, { messages: toSummarize })
  expect(seen).toEqual([])
  expect(await summarizeMessages(agent, { messages: toSummarize, hooks: summaryHooks })).toMatchObject({ summary: 'SUMMARY' })
  expect(seen).toMatchObject([{ id: 'entry_1', purpose: 'branch-summary', attempt: 1, step: 0, sessionKey: 'room:1' }])
  expect(seen.map(({ request }) => request)).toEqual(sentTo(model).slice(1))
  const [context] = contexts
  expect(context).toMatchObject({ runId: '', turn: 3, agent: [], usage: {}, journal: 'idle' })
  expect([context?.isIdle(), context?.hasPendingInputs(), context?.instructions(), context?.contextUsage()]).toEqual([
    true,
    false,
    '',
    { tokens: 0 },
  ])
  expect(await context?.followUp('more')).toEqual({ ok: false, reason: 'run-ended' })
  await context?.waitForIdle()
  expect(context?.spawnChild().tools).toEqual([])
  context?.logStep({ name: null, because: 'x', sequenceIndex: 0 })
})

it('D55: a failing hook of a summary is reported; it stops the summary only with `onError: fail`, or by `abort`', async () => {
  const summaryWith = async (onError: 'ignore' | 'fail', onModelRequest: (context: ExtensionContext) => void) => {
    const failures: object[] = []
    const extension = defineExtension({ name: 'broken', onError, hooks: { onModelRequest: (_sent, context) => onModelRequest(context) } })
    const agent = defineAgent({ model: scriptedModel(() => ({ text: 'SUMMARY' })), extensions: [extension] })
    const made = await summarizeMessages(agent, {
      messages: toSummarize,
      hooks: { ...summaryHooks, onError: (failure) => void failures.push(failure) },
    })
    return { made, failures }
  }
  const fail = () => {
    throw new Error('no')
  }
  expect(await summaryWith('ignore', fail)).toMatchObject({
    made: { summary: 'SUMMARY' },
    failures: [{ extension: 'broken', message: 'no' }],
  })
  expect(await summaryWith('fail', fail)).toMatchObject({
    made: { failure: expect.stringContaining('stopped') as string },
    failures: [{ extension: 'broken' }],
  })
  expect(await summaryWith('ignore', ({ abort }) => abort())).toMatchObject({
    made: { failure: expect.stringContaining('stopped') as string },
    failures: [],
  })
})
