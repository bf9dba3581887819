import { defineTool, type PendingToolCall, type SubmittedResult } from '@bowline/agent-loop'
import type { Session, SessionStore, ToolResolution } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { helper, handOver, callTo, remote, team } from '../children/support.ts'
import { setup } from '../support.ts'
import { inDoubt } from './doubt.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({ of: z.string() }) })
const asks = { toolCalls: [{ id: 'c1', name: 'place', input: { of: 'Ann' } }] }

async function waiting(store: SessionStore = memoryStore()) {
  const made = setup({ steps: [asks, { text: 'done' }], tools: [place], store })
  await made.runtime.start()
  const session = made.runtime.session('room:1')
  const [call] = (await (await session.send('where?')).result()).pendingToolCalls
  return { ...made, session, call: call as PendingToolCall }
}

async function resultOf(session: Session, toolCallId: string) {
  const { items } = await session.messages()
  return items.find((message) => message.role === 'tool-result' && message.toolCallId === toolCallId)
}

describe('resolveTool', () => {
  it.each<[string, unknown, string]>([
    ['nothing', {}, 'resolution must have exactly one of result, output, error, runAgain, unknown; received none of them.'],
    ['undefined', undefined, 'resolution must be an object; received undefined.'],
    ['null', null, 'resolution must be an object; received null.'],
    ['a text', 'paid 5', 'resolution must be an object; received a text of 6 characters.'],
    ['a misspelled name', { resut: 'paid' }, 'resolution has no option "resut"; did you mean result?'],
    ['an absent result', { result: undefined }, 'received none of them'],
    ['a number that is none', { result: { paid: Number.NaN } }, 'resolution.result.paid is a number that JSON cannot hold'],
    ['two answers', { result: 'paid', error: 'failed' }, 'received result and error'],
    ['an error that is no text', { error: { message: 'failed' } }, 'resolution.error must be a text; received an object.'],
    ['unknown that is not true', { unknown: 'yes' }, 'resolution.unknown must be true; received a text of 3 characters.'],
    ['runAgain that is not true', { runAgain: false }, 'resolution.runAgain must be true; received false.'],
    ['an end of the turn', { output: 'paid', terminate: true }, 'resolution has no option "terminate"'],
    ['details of an error', { error: 'failed', details: 1 }, 'resolution.details is allowed only with output'],
    ['isError of an error', { error: 'failed', isError: true }, 'resolution.isError is allowed only with output'],
    ['the name of its tool, which says that it is unknown', { toolName: 'pay', unknown: true }, 'received none of them'],
    ['its input, which says that it is unknown', { input: {}, unknown: true }, 'received none of them'],
    ['its deadline, which says that it is unknown', { deadlineAt: 1, unknown: true }, 'received none of them'],
    ['its agent, which says that it is unknown', { agent: [], unknown: true }, 'received none of them'],
    ['its background, which says that it is unknown', { background: [], unknown: true }, 'received none of them'],
    ['the path of another call', { result: 'paid', path: ['other'] }, 'resolution.path differs from that of the pending call'],
    ['the id of another call', { result: 'paid', toolCallId: 'c-place' }, 'resolution.toolCallId differs from that of the pending call'],
    ['the name of another tool', { result: 'paid', toolName: 'place' }, 'resolution.toolName differs from that of the pending call'],
    ['another input', { runAgain: true, input: { amount: 6 } }, 'resolution.input differs from that of the pending call'],
  ])('S209: %s settles nothing', async (_name, resolution, message) => {
    const { session, runtime, starts } = await inDoubt()
    const before = await session.info()
    const refused = expect(session.resolveTool('c-pay', resolution as ToolResolution, { path: [] }))
    await refused.rejects.toMatchObject({ code: 'invalid-input', message: expect.stringContaining(message) as string })
    expect(await session.info()).toEqual(before)
    expect(starts).toHaveLength(1)
    await runtime.stop()
  })

  it.each<[string, unknown, object]>([
    ['an output that is a text', { output: 'paid 5' }, { status: 'result', output: { type: 'text', value: 'paid 5' } }],
    ['an output that is JSON', { output: { paid: 5 } }, { status: 'result', output: { type: 'json', value: { paid: 5 } } }],
    [
      'an output with details',
      { output: 'paid', details: { id: 7 } },
      { status: 'result', output: { type: 'text', value: 'paid' }, details: { id: 7 } },
    ],
    [
      'an output that is an error',
      { output: 'no money', isError: true },
      { status: 'error', output: { type: 'error-text', value: 'no money' } },
    ],
    ['absent options', { output: 'paid', details: undefined, isError: undefined, error: undefined }, { status: 'result' }],
    ['a result', { result: 5 }, { status: 'result', output: { type: 'json', value: 5 } }],
    ['an error', { error: 'no money' }, { status: 'error' }],
    ['unknown', { unknown: true }, { status: 'unknown' }],
    [
      'an answer with all that its message says',
      { output: 'paid', role: 'tool-result', toolCallId: 'c-pay', toolName: 'pay', path: [], agent: [], background: [] },
      { status: 'result' },
    ],
  ])('S209: %s settles the call as stated', async (_name, resolution, outcome) => {
    const { session, runtime } = await inDoubt()
    await session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    await (await session.resolveTool('c-pay', resolution as ToolResolution)).result()
    expect(await resultOf(session, 'c-pay')).toMatchObject(outcome)
    await runtime.stop()
  })

  it('S209: a call without a name is refused with an error that says so', async () => {
    const { session, runtime } = await inDoubt()
    await expect(session.resolveTool('', { unknown: true })).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringMatching(/^toolCallId must be/) as string,
    })
    await runtime.stop()
  })

  it('S209: the fields of the pending call may accompany the answer, but are no answer by themselves', async () => {
    const { session, runtime } = await inDoubt()
    const call = (await session.info())?.openRun?.pendingToolCalls.find(({ unknown }) => unknown)
    expect(call).toMatchObject({ toolCallId: 'c-pay', unknown: true })
    await expect(session.resolveTool('c-pay', { ...call } as ToolResolution)).rejects.toMatchObject({ code: 'invalid-input' })
    await expect(session.submitToolResults([{ ...call } as SubmittedResult])).rejects.toMatchObject({ code: 'invalid-input' })
    await session.resolveTool('c-pay', { ...call, output: 'paid 5' })
    await (await session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])).run.result()
    expect(await resultOf(session, 'c-pay')).toMatchObject({ status: 'result', output: { type: 'text', value: 'paid 5' } })
    await runtime.stop()
  })
})

describe('submitToolResults', () => {
  it('S209: a pending call with its answer is accepted, and counts as a repeat of the answer alone', async () => {
    const { session, runtime, call } = await waiting()
    expect(call).toMatchObject({ toolName: 'place', input: { of: 'Ann' }, path: [], agent: [] })
    const { run, accepted } = await session.submitToolResults([{ ...call, output: 'Oslo' }])
    expect(accepted).toEqual(['c1'])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(await session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }])).toMatchObject({ repeated: ['c1'] })
    expect(await session.submitToolResults([{ ...call, output: 'Oslo' }])).toMatchObject({ repeated: ['c1'] })
    await runtime.stop()
  })

  it('S209: a pending call is accepted with its deadline, and with the input edited by its approval', async () => {
    const hurried = defineTool({
      name: 'place',
      description: 'Where the user is.',
      inputSchema: z.object({ of: z.string() }),
      timeoutMs: 60_000,
      needsApproval: true,
    })
    const { runtime } = setup({ steps: [asks, { text: 'done' }], tools: [hurried] })
    const session = runtime.session('room:1')
    const run = await session.send('where?')
    const { pendingApprovals } = await run.result()
    await session.approve(pendingApprovals[0]?.approvalId ?? '', { input: { of: 'Bob' } })
    for await (const event of run) if (event.type === 'awaiting-tools') break
    const [call] = (await run.result()).pendingToolCalls
    expect(call).toMatchObject({ input: { of: 'Bob' }, deadlineAt: expect.any(Number) as number })
    const refused = session.submitToolResults([{ ...(call as PendingToolCall), input: { of: 'Eve' }, output: 'Oslo' }])
    await expect(refused).rejects.toMatchObject({
      issues: [{ path: 'results[0].input', message: expect.stringContaining('differs from that of') as string }],
    })
    expect(await session.submitToolResults([{ ...(call as PendingToolCall), output: 'Oslo' }])).toMatchObject({ accepted: ['c1'] })
    await runtime.stop()
  })

  it('S209: of two equal answers each must match the call', async () => {
    const { session, runtime } = await waiting()
    const answer = { toolCallId: 'c1', output: 'Oslo' }
    const wrong = { ...answer, toolName: 'pay' } as SubmittedResult
    await expect(session.submitToolResults([wrong, answer])).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('results[0].toolName') as string,
    })
    expect(await session.submitToolResults([answer, answer])).toMatchObject({ accepted: ['c1'], repeated: [], missing: [] })
    await runtime.stop()
  })

  it('S209: the caller cannot answer a call to a subagent, although a call below it has the same id', async () => {
    const child = helper('child', [{ toolCalls: [callTo('w', 'where')] }, { text: 'found' }], { tools: [remote('where')] })
    const { runtime, session } = await team([{ toolCalls: [handOver('w', 'child')] }, { text: 'done' }], { subagents: [child] })
    const run = await session.send('go')
    expect((await run.result()).pendingToolCalls).toMatchObject([{ toolCallId: 'w', path: ['w'] }])
    await expect(session.submitToolResults([{ toolCallId: 'w', output: 'made up' }])).rejects.toMatchObject({ code: 'unknown-tool-call' })
    expect(await session.submitToolResults([{ toolCallId: 'w', path: ['w'], output: 'Oslo' }])).toMatchObject({ accepted: ['w'] })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S209: a pending call of a subagent is accepted by the path that the root lists', async () => {
    const inner = helper('inner', [{ toolCalls: [callTo('w', 'where')] }, { text: 'inner' }], { tools: [remote('where')] })
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')] }, { text: 'outer' }], { subagents: [inner] })
    const { runtime, session } = await team([{ toolCalls: [handOver('o', 'outer')] }, { text: 'done' }], { subagents: [outer] })
    const run = await session.send('go')
    const [call] = (await run.result()).pendingToolCalls
    expect(call).toMatchObject({ path: ['o', 'i'], agent: ['outer', 'inner'] })
    const answer = { ...(call as PendingToolCall), output: 'Oslo' }
    await expect(session.submitToolResults([{ ...answer, agent: ['outer'] }])).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('results[0].agent') as string,
    })
    expect(await session.submitToolResults([answer])).toMatchObject({ accepted: ['w'] })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it.each<[string, object, string]>([
    ['the name of another tool', { toolName: 'pay' }, 'toolName differs from that of the pending call'],
    ['another input', { input: { of: 'Bob' } }, 'input differs from that of the pending call'],
    ['another deadline', { deadlineAt: 5 }, 'deadlineAt differs from that of the pending call'],
    ['the first moment as its deadline', { deadlineAt: 0 }, 'deadlineAt differs from that of the pending call'],
    ['a deadline before all time', { deadlineAt: -1 }, 'deadlineAt must be'],
    ['an agent that is a text', { agent: 'scout' }, 'agent must be a list'],
    ['a background that is a text', { background: 'task' }, 'background must be a list'],
    ['another agent', { agent: ['scout'] }, 'agent differs from that of the pending call'],
    ['a misspelled name', { outpt: 'x' }, 'has no option "outpt"; did you mean output?'],
    ['a name that is none', { toolName: 5 }, 'toolName must be a text with at least one character; received 5'],
    ['another role', { role: 'user' }, 'role must be one of tool-result'],
    ['a path that is a text', { path: 'o' }, 'path must be a list; received a text of 1 character'],
    ['a word for an error', { isError: 'yes' }, 'isError must be true or false; received a text of 3 characters'],
    ['no id', { toolCallId: undefined }, 'toolCallId must be a text with at least one character; received undefined'],
    ['a second answer', { error: 'no' }, 'must have exactly one of output, error, unknown; received output and error'],
    ['what is no JSON', { details: { at: Number.NaN } }, 'details.at is a number that JSON cannot hold'],
  ])('S208, S209: a result with %s is refused as a whole, and the run still waits', async (_name, more, message) => {
    const { session, runtime, call } = await waiting()
    const before = await session.info()
    const wrong = { ...call, output: 'Oslo', ...more } as unknown as SubmittedResult
    await expect(session.submitToolResults([{ toolCallId: 'c1', output: 'Oslo' }, wrong])).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringMatching(new RegExp(`^results\\[1\\][. ]${message.replaceAll(/[.*?()[\]]/g, '\\$&')}`)) as string,
    })
    expect(await session.info()).toEqual(before)
    await runtime.stop()
  })

  it.each<[string, unknown]>([
    ['nothing', []],
    ['no list', { toolCallId: 'c1', output: 'Oslo' }],
    ['null', null],
    ['an item that is null', [null]],
  ])('S208: %s as a submission is refused', async (_name, results) => {
    const { session, runtime } = await waiting()
    await expect(session.submitToolResults(results as readonly SubmittedResult[])).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('results') as string,
    })
    await runtime.stop()
  })
})
