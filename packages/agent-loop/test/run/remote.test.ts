import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { SubmittedResult } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { resultsOf } from '../support/prompts.ts'
import { echo, remote } from '../support/tools.ts'
import { goOn, waitingAgent } from '../support/waiting-agent.ts'

const call = (id: string, name: string) => ({ id, name, input: { for: id } })

async function suspended(calls = [call('a', 'far'), call('b', 'far')], more: Parameters<typeof agentOf>[0] = [{ text: 'done' }]) {
  const talk = conversation()
  const near = echo('near')
  const agent = agentOf([{ toolCalls: calls }, ...more], { tools: [remote('far'), near.tool] })
  const { result } = await talk.play(agent, 'go')
  return { talk, agent, near, result }
}

describe('remote tools', () => {
  it('A68: a call of a tool without execute ends the run as awaiting-tools, and no model call follows', async () => {
    const { result, agent, talk } = await suspended(undefined, [])
    expect(result).toMatchObject({ status: 'awaiting-tools', reason: 'pending', steps: 1, text: '' })
    expect(result.pendingToolCalls).toEqual([
      { toolCallId: 'a', toolName: 'far', input: { for: 'a' }, path: [], agent: [] },
      { toolCallId: 'b', toolName: 'far', input: { for: 'b' }, path: [], agent: [] },
    ])
    expect(agent.model.calls).toHaveLength(1)
    expect(talk.journal.commits).toHaveLength(2)
  })

  it('A69: in a mixed answer the local calls are finished and committed before the segment ends as awaiting-tools', async () => {
    const { talk, near, result } = await suspended([call('a', 'far'), call('b', 'near')], [])
    expect(near.calls).toHaveLength(1)
    expect(result.pendingToolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['a'])
    const types = talk.journal.events.map((event) => event.type)
    expect(types.indexOf('tool-execution-end')).toBeLessThan(types.lastIndexOf('awaiting-tools'))
    expect((await talk.memory.load()).open?.calls.map(({ state }) => state)).toEqual(['remote', 'result'])
    expect((await talk.memory.load()).messages).toHaveLength(2)
  })

  it('A69: a remote call is announced in the commit that starts the local call beside it', async () => {
    const { talk } = await suspended([call('a', 'far'), call('b', 'near'), call('c', 'far')], [])
    const told = (talk.journal.commits[1] ?? []).flatMap((record) => (record.type === 'event' ? record.event : []))
    expect(told.map(({ type }) => type)).toEqual(['message-end', 'tool-execution-start', 'awaiting-tools'])
    const pending = [expect.objectContaining({ toolCallId: 'a' }), expect.objectContaining({ toolCallId: 'c' })]
    expect(told.at(-1)).toMatchObject({ pendingToolCalls: pending, continues: true })
    expect(talk.journal.commits.flat().filter(({ type }) => type === 'run')).toMatchObject([
      { run: { state: 'running' } },
      { run: { state: 'running', pendingToolCalls: pending } },
      { run: { state: 'suspended' } },
    ])
  })

  it('A70: submitting all results leads to exactly one model call, with results in call order', async () => {
    const { talk, agent } = await suspended()
    const { result } = await talk.play(agent, {
      toolResults: [
        { toolCallId: 'b', output: { n: 2 } },
        { toolCallId: 'a', error: 'no' },
      ],
    })
    expect(result).toMatchObject({ status: 'completed', text: 'done', submission: { accepted: ['b', 'a'], repeated: [], missing: [] } })
    expect(resultsOf(agent.model.calls[1])).toEqual([
      { id: 'a', output: { type: 'error-text', value: 'no' } },
      { id: 'b', output: { type: 'json', value: { n: 2 } } },
    ])
    expect(result.messages.map(({ role }) => role)).toEqual(['tool-result', 'tool-result', 'assistant'])
    expect(talk.view().status).toBe('completed')
  })

  it('A71: submitting some results stores those, ends as awaiting-tools and lists the rest', async () => {
    const { talk, agent } = await suspended()
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'b', output: 'two' }] })
    expect(result).toMatchObject({ status: 'awaiting-tools', submission: { accepted: ['b'], missing: ['a'] } })
    expect(result.pendingToolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['a'])
    expect(agent.model.calls).toHaveLength(1)
    const last = await talk.play(agent, { toolResults: [{ toolCallId: 'a', output: 'one' }] })
    expect(last.result.status).toBe('completed')
    expect(resultsOf(agent.model.calls[1]).map(({ id }) => id)).toEqual(['a', 'b'])
  })

  it.each<[string, readonly SubmittedResult[], string, readonly string[]]>([
    [
      'an unknown id',
      [
        { toolCallId: 'a', output: 1 },
        { toolCallId: 'z', output: 1 },
      ],
      'unknown-tool-call',
      ['z'],
    ],
    [
      'two answers to one call',
      [
        { toolCallId: 'a', output: 1 },
        { toolCallId: 'a', output: 2 },
      ],
      'tool-result-conflict',
      ['a'],
    ],
    ['a path that leads nowhere', [{ toolCallId: 'a', path: ['p'], output: 1 }], 'unknown-tool-call', ['a']],
    ['unknown for a remote call', [{ toolCallId: 'a', unknown: true }], 'invalid-input', ['a']],
  ])('A72: %s refuses the whole submission and changes nothing', async (_what, toolResults, code, ids) => {
    const { talk, agent } = await suspended(undefined, [])
    const before = talk.memory.snapshot()
    const { result, events } = await talk.play(agent, { toolResults })
    expect(result).toMatchObject({ status: 'error', reason: 'refused', error: { code, refused: ids.map((id) => ({ id, code })) } })
    expect(events).toEqual([])
    expect(talk.memory.snapshot()).toEqual(before)
  })

  it('A72: an answer that contradicts the stored one is refused, also after the turn has gone on', async () => {
    const { talk, agent } = await suspended()
    await talk.play(agent, { toolResults: [{ toolCallId: 'a', output: 'one' }] })
    const open = await talk.play(agent, { toolResults: [{ toolCallId: 'a', output: 'other' }] })
    expect(open.result).toMatchObject({ reason: 'refused', error: { code: 'tool-result-conflict' } })
    await talk.play(agent, { toolResults: [{ toolCallId: 'b', output: 'two' }] })
    for (const other of [{ output: 'other' }, { output: 'one', isError: true }, { output: 'one', details: { a: 1 } }]) {
      const later = await talk.play(agent, { toolResults: [{ toolCallId: 'a', ...other }] })
      expect(later.result).toMatchObject({ reason: 'refused', error: { code: 'tool-result-conflict', refused: [{ id: 'a' }] } })
    }
  })

  it('A72: an identical repeat is accepted, makes no event and no commit, and returns the status of the open turn', async () => {
    const { talk, agent } = await suspended()
    const answer = { toolCallId: 'a', output: { b: 1, a: 2 }, details: { d: 1 } }
    await talk.play(agent, { toolResults: [answer] })
    const commits = talk.journal.commits.length
    const again = await talk.play(agent, { toolResults: [{ toolCallId: 'a', output: { a: 2, b: 1 }, details: { d: 1 } }] })
    expect(again).toMatchObject({
      events: [],
      result: { status: 'awaiting-tools', submission: { accepted: [], repeated: ['a'], missing: ['b'] } },
    })
    expect(again.result.pendingToolCalls).toHaveLength(1)
    const rest = await talk.play(agent, { toolResults: [answer, { toolCallId: 'b', output: 1 }] })
    expect(rest.result).toMatchObject({ status: 'completed', submission: { accepted: ['b'], repeated: ['a'] } })
    const late = await talk.play(agent, { toolResults: [answer] })
    expect(late).toMatchObject({
      events: [],
      result: { status: 'completed', reason: 'handled', submission: { repeated: ['a'], missing: [] } },
    })
    expect(talk.journal.commits).toHaveLength(commits + 2)
  })

  it('A73: a call past its deadline gets an error at the next run, and a late answer conflicts', async () => {
    const talk = conversation()
    const tools = [remote('far', { timeoutMs: 1_000 }), remote('patient')]
    const agent = agentOf([{ toolCalls: [call('a', 'far'), call('b', 'patient')] }, { text: 'done' }], { tools })
    const { result } = await talk.play(agent, 'go')
    expect(result.pendingToolCalls).toMatchObject([{ toolCallId: 'a', deadlineAt: 2_000 }, { toolCallId: 'b' }])
    expect(result.pendingToolCalls[1]).not.toHaveProperty('deadlineAt')
    await talk.clock.advance(1_000)
    const late = await talk.play(agent, { toolResults: [{ toolCallId: 'a', output: 1 }] })
    expect(late.result).toMatchObject({ error: { code: 'tool-result-conflict' } })
    const next = await talk.play(agent, undefined)
    expect(next.result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'b' }] })
    const done = await talk.play(agent, { toolResults: [{ toolCallId: 'b', output: 1 }] })
    expect(done.result.status).toBe('completed')
    expect(resultsOf(agent.model.calls[1])[0]?.output).toMatchObject({
      type: 'error-text',
      value: expect.stringContaining('deadline') as string,
    })
  })

  it('A74: finished local calls never run again at a resumption', async () => {
    const { talk, near, agent } = await suspended([call('a', 'far'), call('b', 'near'), call('c', 'far')])
    await talk.play(agent, undefined)
    await talk.play(agent, { toolResults: [{ toolCallId: 'a', output: 1 }] })
    await talk.play(agent, { toolResults: [{ toolCallId: 'c', output: 1 }] })
    expect(near.calls).toHaveLength(1)
  })

  it('A75: refuses new input while calls are pending as pending-calls', async () => {
    const { talk, agent } = await suspended(undefined, [])
    const before = talk.memory.snapshot()
    const { result, events } = await talk.play(agent, 'never mind')
    expect(result).toMatchObject({ status: 'error', reason: 'refused', error: { code: 'pending-calls' } })
    expect(events).toEqual([])
    expect(talk.memory.snapshot()).toEqual(before)
  })

  it('A76: a suspended journal resumes in another process from its JSON with the same events', async () => {
    const talk = conversation()
    const { result } = await talk.play(waitingAgent(), 'go')
    expect(result).toMatchObject({
      status: 'awaiting-tools',
      pendingToolCalls: [{ toolCallId: 'r' }],
      pendingApprovals: [{ toolCallId: 'x' }],
    })
    const given = JSON.stringify([
      talk.memory.snapshot(),
      { toolResults: [{ toolCallId: 'r', output: 1 }], approvals: [{ approvalId: 'approval_1', decision: 'approve' }] },
    ])
    const [snapshot, answers] = JSON.parse(given) as Parameters<typeof goOn>
    const script = `import { goOn } from ${JSON.stringify(new URL('../support/waiting-agent.ts', import.meta.url).href)}
console.log(JSON.stringify(await goOn(...${given})))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    const here = await goOn(snapshot, answers)
    expect(here[0]).toMatchObject({ type: 'turn-start', resumed: true, cause: 'answers', attempt: 2 })
    expect(here.at(-1)?.type).toBe('settled')
    expect(JSON.parse(stdout)).toEqual(here)
  })
})
