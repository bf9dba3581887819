import { defineTool, type SubmittedResult } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import type { Batch, Session, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { checkLog, gate, logOf, setup, types, type SetupOptions } from '../support.ts'

const input = z.object({})
const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: input })
const colour = defineTool({ name: 'colour', description: 'What the user likes.', inputSchema: input })
const confirm = defineTool({
  name: 'confirm',
  description: 'Asks first.',
  inputSchema: input,
  needsApproval: true,
  execute: () => 'confirmed',
})
const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ id: `c-${name}`, name, input: {} })) })

interface Beside extends Partial<SetupOptions> {
  /** Calls of the answer. Default `search` and `place`. */
  readonly asks?: ReturnType<typeof calls>
  readonly memory?: SessionStore
  /** Effect of `search` and `place`. Default `once`. */
  readonly effect?: 'pure' | 'once'
  /** Called before each commit that lets the run wait. */
  readonly beforeWait?: (session: Session) => Promise<unknown>
  /** Called before each commit that stores an answer. */
  readonly beforeAnswer?: (session: Session) => Promise<unknown>
}

function putsAnswer({ writes }: Batch): boolean {
  return writes.some((write) => write.op === 'inbox.put' && write.rows.some(({ kind }) => kind === 'answer'))
}

function letsWait({ writes }: Batch): boolean {
  return writes.some((write) => write.op === 'run.patch' && write.patch.status === 'awaiting-tools')
}

/** Starts a run whose local call `search` runs until `finish`, beside calls that are answered from outside. */
async function besideSearch({
  asks = calls('search', 'place'),
  memory = memoryStore(),
  beforeWait,
  beforeAnswer,
  effect = 'once',
  ...options
}: Beside = {}) {
  const clock = manualClock()
  const started = gate()
  const found = gate<string>()
  const starts: number[] = []
  const search = defineTool({
    name: 'search',
    description: 'Searches for long.',
    inputSchema: input,
    effect,
    execute: (_given, { attempt }) => {
      starts.push(attempt)
      started.open()
      return found.passed
    },
  })
  const store = aroundStore(memory, async (operation, args, go) => {
    if (operation === 'commit' && letsWait(args[0] as Batch)) await beforeWait?.(session)
    if (operation === 'commit' && putsAnswer(args[0] as Batch)) await beforeAnswer?.(session)
    return go()
  })
  const tools = [search, { ...place, effect }, colour, confirm]
  const parts = setup({ steps: [asks, { text: 'all done' }], tools, store, clock, ...options })
  await parts.runtime.start()
  const session = parts.runtime.session('room:1')
  const run = await session.send('go')
  for await (const { type } of session.events()) if (type === 'awaiting-tools') break
  await started.passed
  return { ...parts, memory, clock, tools, session, run, starts, finish: () => found.open('found') }
}

const answer = (name: string, output = 'Oslo'): SubmittedResult => ({ toolCallId: `c-${name}`, output })

async function resultsOf(session: Session): Promise<readonly unknown[]> {
  return (await session.messages()).items.flatMap((message) =>
    message.role === 'tool-result' ? [[message.toolCallId, message.output]] : [],
  )
}

const both = [
  ['c-search', { type: 'text', value: 'found' }],
  ['c-place', { type: 'text', value: 'Oslo' }],
]

describe('answers while other calls of the run go on', () => {
  it('S216: a remote call is listed and its answer accepted while a local call runs, and the model gets both results in call order', async () => {
    const { session, runtime, run, model, starts, finish, faults } = await besideSearch()
    expect(await runtime.run(run.runId)).toMatchObject({
      status: 'running',
      pendingToolCalls: [{ toolCallId: 'c-place', toolName: 'place' }],
    })
    expect(await session.submitToolResults([answer('place')])).toMatchObject({ accepted: ['c-place'], repeated: [], missing: [] })
    expect(await session.submitToolResults([answer('place')])).toMatchObject({ accepted: [], repeated: ['c-place'] })
    await expect(session.submitToolResults([answer('place', 'Bergen')])).rejects.toMatchObject({ code: 'tool-result-conflict' })
    await expect(session.submitToolResults([answer('search')])).rejects.toMatchObject({ code: 'unknown-tool-call' })
    expect(await runtime.run(run.runId)).toMatchObject({ status: 'running', pendingToolCalls: [] })
    finish()
    for await (const event of session.events()) if (event.type === 'settled') break
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'all done' })
    expect(await resultsOf(session)).toEqual(both)
    expect([model.calls.length, starts, faults]).toEqual([2, [1], []])
    await checkLog(session)
    await runtime.stop()
  })

  it('S216: an answer that comes just before the run would wait queues it, and one that leaves another call open lets it wait', async () => {
    const answered: string[] = []
    const asks = calls('search', 'place', 'colour')
    const left = ['colour', 'place']
    const { session, runtime, run, model, finish } = await besideSearch({
      asks,
      beforeWait: async (asked) => {
        const name = left.pop()
        if (name !== undefined && answered.push(name)) await asked.submitToolResults([answer(name)])
      },
    })
    finish()
    for await (const event of session.events()) if (event.type === 'settled') break
    expect(answered).toEqual(['place', 'colour'])
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect([(await resultsOf(session)).length, model.calls.length]).toEqual([3, 2])
    const log = await checkLog(session)
    expect(log.flatMap((event) => (event.type === 'turn-end' ? event.status : []))).toEqual(['awaiting-tools', 'completed'])
    await runtime.stop()
  })

  it('S216: an answer given while the local call runs outlives the process: the next one takes both without asking again', async () => {
    const { session, runtime, tools, memory, clock, finish } = await besideSearch({ agent: { onUnknownOutcome: 'tell-model' } })
    await session.submitToolResults([answer('place')])
    const stopping = runtime.stop({ graceMs: 0 })
    await clock.advance(10_001)
    finish()
    await stopping
    const next = setup({ steps: [{ text: 'all done' }], tools, store: memory, clock, onUnknownOutcome: 'tell-model' })
    await next.runtime.start()
    const again = next.runtime.session('room:1')
    for await (const event of again.events()) if (event.type === 'settled') break
    expect((await resultsOf(again)).at(1)).toEqual(['c-place', { type: 'text', value: 'Oslo' }])
    expect(next.model.calls).toHaveLength(1)
    await checkLog(again)
    await next.runtime.stop()
  })

  it('S216: an approval beside them is decided once the local call has ended, with the answer kept', async () => {
    const { session, runtime, run, finish } = await besideSearch({ asks: calls('search', 'place', 'confirm') })
    const asked = (await logOf(session)).find((event) => event.type === 'approval-requested')
    await session.submitToolResults([answer('place')])
    const decided = session.approve(asked?.approvalId ?? '')
    finish()
    expect(await decided).toMatchObject({ decision: 'approve', missing: [] })
    for await (const event of session.events()) if (event.type === 'settled') break
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await resultsOf(session)).toEqual([...both, ['c-confirm', { type: 'text', value: 'confirmed' }]])
    expect(types(await checkLog(session)).filter((type) => type === 'awaiting-tools').length).toBeGreaterThan(0)
    await runtime.stop()
  })

  it('S216: a stop cancels the remote call, and an answer after it is refused', async () => {
    const { session, runtime, run, finish } = await besideSearch()
    const stopped = session.stop()
    await expect(session.submitToolResults([answer('place')])).rejects.toMatchObject({ code: 'tool-result-conflict' })
    finish()
    await stopped
    expect(await run.result()).toMatchObject({ status: 'aborted', pendingToolCalls: [] })
    await checkLog(session)
    await runtime.stop()
  })

  it('S216: an answer that a stop overtakes before it is stored is refused, not accepted and lost', async () => {
    const memory = memoryStore()
    let stopping: Promise<unknown> | undefined
    const { session, runtime, run, finish } = await besideSearch({
      memory,
      beforeAnswer: async (asked) => {
        stopping ??= asked.stop()
        for (let read = await memory.readRun(run.runId); read.status === 'found' && !read.value.stop;)
          read = await memory.readRun(run.runId)
      },
    })
    await expect(session.submitToolResults([answer('place')])).rejects.toMatchObject({ code: 'tool-result-conflict' })
    finish()
    await stopping
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    await runtime.stop()
  })

  it('S216: a run that goes on after an answer no longer lists the call', async () => {
    const found = gate<string>()
    const started = gate()
    const search = defineTool({
      name: 'search',
      description: 'Searches.',
      inputSchema: input,
      execute: () => (started.open(), found.passed),
    })
    const { runtime } = setup({
      steps: [calls('place'), calls('search'), { text: 'all done' }],
      tools: [search, place],
      store: memoryStore(),
    })
    const session = runtime.session('room:1')
    const run = await session.send('go')
    expect(await run.result()).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'c-place' }] })
    await session.submitToolResults([answer('place')])
    await started.passed
    expect(await runtime.run(run.runId)).toMatchObject({ status: 'running', pendingToolCalls: [] })
    found.open('found')
    for await (const event of session.events()) if (event.type === 'settled') break
    await runtime.stop()
  })

  it('S216: webhooks learn of the call at once, and once', async () => {
    const notify = {
      url: 'https://hooks.example/bowline',
      events: ['awaiting-answer'],
      secret: 'a secret of this test, long enough',
    } as const
    const { session, runtime, run, finish } = await besideSearch({ notify })
    const told = async () => (await runtime.notices()).items.map(({ type, body }) => [type, body['status'], body['pendingToolCalls']])
    const asked = [expect.objectContaining({ toolCallId: 'c-place' })]
    expect(await told()).toEqual([['awaiting-answer', 'running', asked]])
    finish()
    for await (const event of session.events()) if (event.type === 'turn-end') break
    expect(await run.result()).toMatchObject({ status: 'awaiting-tools' })
    expect(await told()).toHaveLength(1)
    await runtime.stop()
  })

  it('S216: with durability turn the announcement is stored at once, also if nothing that runs has an effect', async () => {
    const { session, runtime, run, finish } = await besideSearch({ durability: 'turn', effect: 'pure' })
    expect(await runtime.run(run.runId)).toMatchObject({ pendingToolCalls: [{ toolCallId: 'c-place' }] })
    await session.submitToolResults([answer('place')])
    finish()
    for await (const event of session.events()) if (event.type === 'settled') break
    expect(await resultsOf(session)).toEqual(both)
    await runtime.stop()
  })
})

describe('answers while other calls of the run go on in another process', () => {
  const database = postgresPlace()

  it('S216: another process on the same store can answer, and the run goes on where the local call runs', async () => {
    const memory = await database.empty()
    const { session, runtime, tools, model, starts, finish } = await besideSearch({ memory, clock: systemClock })
    const other = setup({ steps: [], tools, store: database.store(), autoStart: false })
    await other.runtime.start()
    expect(await other.runtime.session('room:1').submitToolResults([answer('place')])).toMatchObject({ accepted: ['c-place'] })
    finish()
    for await (const event of session.events()) if (event.type === 'settled') break
    expect(await resultsOf(session)).toEqual(both)
    expect([model.calls.length, other.model.calls.length, starts]).toEqual([2, 0, [1]])
    await Promise.all([runtime.stop(), other.runtime.stop()])
  })
})
