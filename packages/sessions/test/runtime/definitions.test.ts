import { defineAgent, defineTool, type AgentOptions } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/testing'
import { type FaultPlan, faultyStore } from '@bowline/testing/crashes'
import { scriptedModel, type Script } from '@bowline/llm/testing'
import { createRuntime, type Batch, type DefinitionPolicy, type OnWake, type RuntimeOptions, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { gate, heldScript, logOf } from '../support.ts'

const ids = fakeIds()
const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
const asks = { toolCalls: [{ id: 'c1', name: 'place', input: {} }] }

interface Version extends Partial<AgentOptions> {
  readonly steps: Script
  readonly store: SessionStore
  readonly policy?: DefinitionPolicy
  readonly onWake?: OnWake
}

/** Creates a process with one version of the code. */
function version({ steps, store, policy, onWake, ...agent }: Version) {
  const model = scriptedModel(steps)
  const options: RuntimeOptions = {
    agents: [defineAgent({ name: 'assistant', model, instructions: 'Be brief.', tools: [place], ...agent })],
    store,
    ids,
    ...(policy ? { onDefinitionChange: policy } : {}),
    ...(onWake && { onWake }),
  }
  return { runtime: createRuntime(options), model }
}

/** Starts a turn with the first version of the code, which waits for the place. Returns its run id. */
async function begun(store: SessionStore): Promise<string> {
  const { runtime } = version({ steps: [asks], store })
  const run = await runtime.session('room:1').send('where?')
  expect(await run.result()).toMatchObject({ status: 'awaiting-tools' })
  await runtime.stop()
  return run.runId
}

const longer: Partial<AgentOptions> = { instructions: 'Be thorough.' }

describe('a definition that changed after the run began', () => {
  it('S109: is stored once per hash, and the same in any process', async () => {
    const store = memoryStore()
    await begun(store)
    const { runtime } = version({ steps: [{ text: 'b' }], store })
    const run = await runtime.session('room:2').send('again')
    await run.result()
    const [first, second] = (await Promise.all(['room:1', 'room:2'].map((key) => store.listRuns(key)))).flatMap((page) => page.items)
    expect(first?.definition).toBeDefined()
    expect(second?.definition).toBe(first?.definition)
    expect(await store.readDefinition(first?.definition ?? '')).toMatchObject({ instructions: 'Be brief.', tools: [{ name: 'place' }] })
    await runtime.stop()
  })

  it.each([
    ['instructions', longer],
    ['model', { model: scriptedModel([], { modelId: 'other' }) }],
    ['a new tool', { tools: [place, defineTool({ name: 'more', description: 'More.', inputSchema: z.object({}) })] }],
    ['the description of a tool', { tools: [defineTool({ name: 'place', description: 'Where?', inputSchema: z.object({}) })] }],
    [
      'the schema of a tool',
      { tools: [defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({ near: z.string() }) })] },
    ],
    [
      'the effect of a tool',
      { tools: [defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}), effect: 'pure' })] },
    ],
  ] satisfies [string, Partial<AgentOptions>][])('S109, S112: %s changes the hash, and refuse names it', async (_what, change) => {
    const store = memoryStore()
    const runId = await begun(store)
    const { runtime } = version({ steps: [], store, policy: 'refuse', ...change })
    const session = runtime.session('room:1')
    const { run } = await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    const result = await run.result()
    expect(result).toMatchObject({ runId, status: 'needs-recovery', reason: 'definition-changed', error: { code: 'definition-changed' } })
    expect(result.error?.message).not.toContain('nothing')
    expect(await session.info()).toMatchObject({ status: 'needs-recovery' })
    await runtime.stop()
  })

  it('S112: recover takes the decision, and a run that is to stop ends with its calls cancelled', async () => {
    const store = memoryStore()
    const runId = await begun(store)
    const { runtime, model } = version({ steps: [{ text: 'in Oslo' }], store, policy: 'refuse', ...longer })
    const session = runtime.session('room:1')
    await (await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])).run.result()
    expect(model.calls).toEqual([])
    expect(await (await session.recover(runId, 'continue')).result()).toMatchObject({ status: 'completed', text: 'in Oslo' })

    const other = memoryStore()
    const stoppedId = await begun(other)
    const second = version({ steps: [], store: other, policy: 'refuse', ...longer })
    const stopped = second.runtime.session('room:1')
    await (await stopped.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])).run.result()
    expect(await (await stopped.recover(stoppedId, 'stop')).result()).toMatchObject({ status: 'aborted' })
    expect((await stopped.messages()).items.at(-1)).toMatchObject({ role: 'tool-result', toolCallId: 'c1' })
    await Promise.all([runtime.stop(), second.runtime.stop()])
  })

  /** Creates a run that waits for `recover`, in a store whose decisions the test sees. */
  async function held(steps: Script, faults: FaultPlan = []) {
    const store = faultyStore(memoryStore(), faults)
    const runId = await begun(store)
    const wakes: number[] = []
    const made = version({ steps, store, policy: 'refuse', onWake: ({ atMs }) => void wakes.push(atMs), ...longer })
    const session = made.runtime.session('room:1')
    await (await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])).run.result()
    wakes.length = 0
    return { ...made, store, runId, session, wakes }
  }

  const isDecision = ({ writes }: Batch): boolean => writes.some((write) => write.op === 'run.patch' && write.patch.definition === null)

  it('S112: a second, late decision to continue changes nothing', async () => {
    const late = gate()
    const answers = heldScript([{ text: 'in Oslo' }])
    const second = { of: 'commit', when: isDecision, skip: 1, fault: { waitFor: () => late.passed } } as const
    const { runtime, session, store, runId, wakes } = await held(answers.steps, [second])
    const deciding = [session.recover(runId, 'continue'), session.recover(runId, 'continue')]
    await answers.reached(0)
    expect(wakes).toHaveLength(1)
    const running = await store.readRun(runId)
    expect(running).toMatchObject({ value: { status: 'running' } })
    expect(running).not.toHaveProperty('value.error')
    answers.answer(0)
    const run = await Promise.race(deciding)
    expect(await run?.result()).toMatchObject({ status: 'completed', text: 'in Oslo' })
    late.open()
    await Promise.all(deciding)
    expect(await store.readRun(runId)).toMatchObject({ value: { status: 'completed' } })
    await session.recover(runId, 'continue')
    expect(await session.info()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S112: a decision that the store refuses is reported, and the run still waits', async () => {
    const { runtime, session, runId } = await held(
      [],
      [{ of: 'commit', when: isDecision, fault: { answer: () => ({ ok: false, reason: 'missing' }) } }],
    )
    await expect(session.recover(runId, 'continue')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('missing') as string,
    })
    expect(await session.info()).toMatchObject({ status: 'needs-recovery' })
    await runtime.stop()
  })

  it('S110, S113: continue uses the new definition, and the log says what has changed', async () => {
    const store = memoryStore()
    await begun(store)
    const { runtime, model } = version({ steps: [{ text: 'in Oslo' }], store, ...longer })
    const session = runtime.session('room:1')
    const { run } = await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('Be thorough.')
    const resumed = (await logOf(session)).find((event) => event.type === 'turn-start' && event.resumed)
    expect(resumed).toMatchObject({
      attempt: 1,
      cause: 'answers',
      definitionDiff: { instructions: true, tools: { added: [], removed: [] } },
    })
    await runtime.stop()
  })

  it('S110: a removed tool gives its waiting call an error outcome', async () => {
    const store = memoryStore()
    await begun(store)
    const { runtime } = version({ steps: [{ text: 'without it' }], store, tools: [] })
    const session = runtime.session('room:1')
    const { run } = await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'without it' })
    await runtime.stop()
  })

  it('S111: pin shows the model the old definition', async () => {
    const store = memoryStore()
    await begun(store)
    const reworded = defineTool({ name: 'place', description: 'Something else.', inputSchema: z.object({}) })
    const { runtime, model } = version({ steps: [{ text: 'in Oslo' }], store, policy: 'pin', ...longer, tools: [reworded] })
    const { run } = await runtime.session('room:1').submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const sent = JSON.stringify(model.calls[0])
    expect(sent).toContain('Be brief.')
    expect(sent).toContain('Where the user is.')
    expect(sent).not.toContain('Something else.')
    await runtime.stop()
  })

  it('S111: pin is refused if a tool of the old definition is missing', async () => {
    const store = memoryStore()
    await begun(store)
    const { runtime } = version({ steps: [], store, policy: 'pin', tools: [] })
    const { run } = await runtime.session('room:1').submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(await run.result()).toMatchObject({
      status: 'needs-recovery',
      error: { message: expect.stringContaining('the removed tool place') },
    })
    await runtime.stop()
  })

  it('S113: a policy that throws counts as refuse', async () => {
    const store = memoryStore()
    await begun(store)
    const policy = () => {
      throw new Error('no policy')
    }
    const { runtime } = version({ steps: [], store, policy, ...longer })
    const { run } = await runtime.session('room:1').submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])
    expect(await run.result()).toMatchObject({ status: 'needs-recovery', reason: 'definition-changed' })
    await runtime.stop()
  })
})
