import { defineTool } from '@bowline/agent-loop'
import type { ApprovalReceipt, InputReceipt, SessionView } from '@bowline/client'
import type { Script } from '@bowline/llm/testing'
import { createToken } from '@bowline/server'
import { describe, expect, it } from 'vitest'
import { bench, gate, refusal, say, stores, type BenchOptions } from './support/bench.ts'
import { allFrames, completion, eventsOf, framesUntil, typesOf } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const receipt = async (answer: Response | Promise<Response>) => (await (await answer).json()) as InputReceipt

/** Starts a run that is open until `hold` opens and whose first answer has begun. Each later call has its own answer. */
async function openRun(options: BenchOptions) {
  const hold = gate()
  const steps: Script = (_call, index) =>
    index === 0 ? { parts: [{ wait: hold.passed }], text: 'One.' } : { text: `Answer ${index + 1}.` }
  const made = await bench({ steps, ...options })
  const answer = await made.execute({ sessionId: 'mine', input: say('one'), context: {} })
  const runId = answer.headers.get('x-run-id') ?? ''
  const begun = await made.get(`${mine}/events?from=start`)
  await framesUntil(begun, ({ data }) => data.type === 'message-start')
  return { ...made, hold, runId, answer }
}

describe.each(stores)('inputs to an open run over the $name store', ({ make }) => {
  it('V10: steer goes into the open run and joins its stream', async () => {
    const { execute, hold, runId, answer, model } = await openRun({ store: make() })
    const steered = await execute({ sessionId: 'mine', input: say('and this'), options: { onBusy: 'steer' } })
    expect(steered.headers.get('x-run-id')).toBe(runId)
    hold.open()
    const frames = await allFrames(steered)
    expect(typesOf(frames)[0]).toBe('run-queued')
    expect(completion(frames)).toEqual(completion(await allFrames(answer)))
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('and this')
  })

  it('V10: interrupt stops the run and becomes the next one', async () => {
    const { execute, runId, answer } = await openRun({ store: make() })
    const reading = allFrames(answer)
    const interrupting = await execute({ sessionId: 'mine', input: say('instead'), options: { onBusy: 'interrupt' } })
    expect(interrupting.headers.get('x-run-id')).not.toBe(runId)
    expect(completion(await reading).status).toBe('aborted')
    const frames = await allFrames(interrupting)
    expect(completion(frames).status).toBe('completed')
    expect(eventsOf(frames).every((event) => 'runId' in event && event.runId !== runId)).toBe(true)
  })

  it('V10: the queue limit applies to every input that becomes a run, and a repeat does not count', async () => {
    const { execute, post, hold, answer } = await openRun({ store: make(), limits: { queuedRunsPerSession: 1 } })
    const queued = { sessionId: 'mine', input: say('two'), options: { onBusy: 'queue' } }
    const key = { 'idempotency-key': 'k1' }
    const first = await execute(queued, key)
    const problem = await refusal(execute(queued), 429, 'queue-full')
    expect(problem).toMatchObject({ retryable: true, retryAfterMs: 1000 })
    await refusal(post(`${mine}/follow-up`, { input: say('three') }), 429, 'queue-full')
    expect((await post(`${mine}/steer`, { input: say('four') })).status).toBe(202)
    expect((await execute(queued, key)).headers.get('x-run-id')).toBe(first.headers.get('x-run-id'))
    hold.open()
    expect(completion(await allFrames(answer)).status).toBe('completed')
  })

  it('V22: steer goes into the open run, a follow-up comes after it, and each response says so', async () => {
    const { execute, post, get, hold, runId, answer, model } = await openRun({ store: make() })
    const queued = await execute({ sessionId: 'mine', input: say('last'), options: { onBusy: 'queue' } })
    expect([queued.headers.get('x-behind-run-id'), queued.headers.get('x-behind-status')]).toEqual([runId, 'running'])
    expect(answer.headers.get('x-behind-run-id')).toBeNull()
    const steered = await post(`${mine}/steer`, { input: say('and this') })
    expect(steered.status).toBe(202)
    expect(await steered.json()).toEqual({ runId, accepted: 'steered' })
    const behind = await receipt(post(`${mine}/follow-up`, { input: say('behind') }))
    expect(behind).toEqual({ runId: expect.any(String), accepted: 'queued', behind: { runId, status: 'running' } })
    hold.open()
    const [first, last] = await Promise.all([allFrames(answer), allFrames(queued)])
    expect(completion(first)).toMatchObject({ runId, status: 'completed' })
    expect(completion(last)).toMatchObject({ runId: queued.headers.get('x-run-id'), status: 'completed' })
    expect(eventsOf(last).every((event) => 'runId' in event && event.runId !== runId)).toBe(true)
    // No call was retried.
    expect(model.calls).toHaveLength(4)
    const { messages } = (await (await get(mine)).json()) as SessionView
    const texts = messages.filter((message) => message.role === 'user').map((message) => message.content)
    expect(texts).toEqual(['one', 'and this', 'behind', 'last'])
  })

  it('V22: on an idle session both start a run', async () => {
    const { execute, post, get } = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('one'), context: {} }))
    for (const route of ['steer', 'follow-up']) {
      const { runId, accepted } = await receipt(post(`${mine}/${route}`, { input: say(route) }))
      expect(accepted).toBe('queued')
      const frames = await framesUntil(await get(`${mine}/events`), ({ data }) => data.type === 'settled')
      expect(eventsOf(frames).find((event) => event.type === 'turn-end')).toMatchObject({ runId, status: 'completed' })
    }
    await refusal(post('/api/agent/session/none/steer', { input: say('x') }), 404, 'session-missing')
  })

  it('V22: the same id with the same input is one input, with another input it is refused', async () => {
    const { post, hold, answer, model } = await openRun({ store: make() })
    for (const route of ['steer', 'follow-up']) {
      const first = await receipt(post(`${mine}/${route}`, { input: say(route), id: 'a' }))
      expect(await receipt(post(`${mine}/${route}`, { input: say(route), id: 'a' }))).toEqual({ runId: first.runId, accepted: 'duplicate' })
      await refusal(post(`${mine}/${route}`, { input: say('other'), id: 'a' }), 422, 'id-reused')
    }
    hold.open()
    await allFrames(answer)
    expect(JSON.stringify(model.calls[1]?.prompt).match(/steer/g)).toHaveLength(1)
  })
})

it('V10, V22: inputs that the agent does not allow are refused, on every route', async () => {
  const { execute, post } = await openRun({ agents: { assistant: { onBusy: ['reject'] } } })
  for (const onBusy of ['queue', 'steer', 'interrupt']) {
    await refusal(execute({ sessionId: 'mine', input: say('x'), options: { onBusy } }), 403, 'option-not-allowed')
  }
  for (const route of ['steer', 'follow-up']) await refusal(post(`${mine}/${route}`, { input: say('x') }), 403, 'option-not-allowed')
  const file = { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'http://169.254.169.254/' } }
  const { post: steer } = await openRun({})
  await refusal(steer(`${mine}/steer`, { input: { role: 'user', content: [file] } }), 403, 'url-not-allowed')
})

const cut = defineTool({
  name: 'cut',
  description: 'Cuts a rope.',
  inputSchema: { type: 'object', properties: { length: { type: 'number' } }, required: ['length'], additionalProperties: false },
  needsApproval: true,
  execute: ({ length }) => `cut ${JSON.stringify(length)}`,
})

describe.each(stores)('approvals over the $name store', ({ make }) => {
  async function asking() {
    const steps = [{ toolCalls: [{ id: 'call-cut', name: 'cut', input: { length: 5 } }] }, { text: 'Done.' }]
    const made = await bench({ store: make(), steps, tools: [cut] })
    const frames = await allFrames(await made.execute({ sessionId: 'mine', input: say('cut'), context: {} }))
    const [approval] = completion(frames).pendingApprovals ?? []
    if (!approval) throw new Error('Nothing was asked.')
    const decide = (body: object, id = approval.approvalId) => made.post(`${mine}/approvals/${id}`, body)
    const outcome = async () => {
      await framesUntil(await made.get(`${mine}/events`), ({ data }) => data.type === 'settled')
      const { messages } = (await (await made.get(mine)).json()) as SessionView
      return messages.find((message) => message.role === 'tool-result')
    }
    return { ...made, approval, decide, outcome }
  }

  it('V23: an approval lets the stored input run, names the decider, and is repeatable', async () => {
    const { approval, decide, outcome, get } = await asking()
    expect((await (await get(mine)).json()) as SessionView).toMatchObject({ pendingApprovals: [{ approvalId: approval.approvalId }] })
    const answer = await decide({ decision: 'approve', inputHash: approval.inputHash })
    expect(answer.status).toBe(200)
    const first = (await answer.json()) as ApprovalReceipt
    expect(first).toEqual({
      approvalId: approval.approvalId,
      decision: 'approve',
      by: 'local',
      at: expect.any(Number),
      repeated: false,
      missing: [],
    })
    expect(await (await decide({ decision: 'approve' })).json()).toEqual({ ...first, repeated: true })
    expect(await outcome()).toMatchObject({ output: { value: 'cut 5' } })
    await refusal(decide({ decision: 'deny' }), 409, 'approval-conflict')
  })

  it('V23, S208: an edited input runs instead, when the schema of the tool accepts it', async () => {
    const { decide, outcome } = await asking()
    const problem = await refusal(decide({ decision: 'approve', input: { length: 'much' } }), 422, 'invalid-input')
    expect(problem.errors).toMatchObject([{ path: 'input.length' }])
    expect(problem.detail).toBe(`input.length: ${problem.errors?.[0]?.message}`)
    expect((await decide({ decision: 'approve', input: { length: 3 } })).status).toBe(200)
    expect(await outcome()).toMatchObject({ output: { value: 'cut 3' } })
  })

  it('V23: a denial tells the model why', async () => {
    const { decide, outcome } = await asking()
    await refusal(decide({ decision: 'deny', input: { length: 3 } }), 400, 'invalid-body')
    expect(await (await decide({ decision: 'deny', reason: 'Too short.' })).json()).toMatchObject({ decision: 'deny', repeated: false })
    expect(await outcome()).toMatchObject({ status: 'denied', output: { reason: expect.stringContaining('Too short.') } })
  })

  it('V23: an unknown id is 404, another input 409', async () => {
    const { decide } = await asking()
    await refusal(decide({ decision: 'approve' }, 'nobody'), 404, 'unknown-approval')
    await refusal(decide({ decision: 'approve', inputHash: 'other' }), 409, 'approval-conflict')
    await refusal(decide({ decision: 'maybe' }), 400, 'invalid-body')
  })
})

it('V23: needs its own scope, and an approval of another tenant is not found', async () => {
  const tokens = await Promise.all([
    createToken({ id: 'a', tenant: 'red', scopes: ['sessions:read', 'sessions:write'] }),
    createToken({ id: 'b', tenant: 'red', scopes: ['approvals'] }),
    createToken({ id: 'c', tenant: 'blue', scopes: ['admin'] }),
  ])
  const [writer = {}, approver = {}, other = {}] = tokens.map(({ token }) => ({ authorization: `Bearer ${token}` }))
  const steps = [{ toolCalls: [{ name: 'cut', input: { length: 5 } }] }, { text: 'Done.' }, { text: 'Hello.' }]
  const { execute, post } = await bench({ auth: { tokens: tokens.map(({ config }) => config) }, steps, tools: [cut] })
  const frames = await allFrames(await execute({ sessionId: 'mine', input: say('cut'), context: {} }, writer))
  const route = `${mine}/approvals/${completion(frames).pendingApprovals?.[0]?.approvalId}`
  const problem = await refusal(post(route, { decision: 'approve' }, writer), 403, 'scope-missing')
  expect(problem.detail).toContain('approvals')
  await refusal(post(route, { decision: 'approve' }, other), 404, 'session-missing')
  expect(await (await post(route, { decision: 'approve' }, approver)).json()).toMatchObject({ by: 'b', repeated: false })
})
