import { describe, expect, it } from 'vitest'
import { testAgent } from '../support.ts'
import { connect, connectTo, contentOf, errorOf, heldAgent } from './support.ts'

type Several = {
  readonly requests: readonly { readonly requestId: string; readonly status: string; readonly error?: { readonly code: string } }[]
}

const words = (content: Several): readonly string[] => content.requests.map(({ requestId, status }) => `${requestId} ${status}`)

async function three() {
  const [one, two] = [heldAgent('one'), heldAgent('two')]
  const connected = await connect([testAgent('a'), one.agent, two.agent])
  for (const [agentId, requestId] of [
    ['a', 'r0'],
    ['one', 'r1'],
    ['two', 'r2'],
  ])
    await connected.call('tasks_delegate', { prompt: 'hi', agentId, requestId, mode: 'background' })
  await Promise.all([one.began, two.began])
  return { ...connected, one, two }
}

describe('B118: tasks_status of several requests', () => {
  it('B118: returns each in its state, in order, also one that is unknown or of another owner', async () => {
    const started = await three()
    const { call } = started
    const answer = contentOf<Several>(await call('tasks_status', { requestIds: ['r2', 'nope', 'r0', 'r2'] }))
    expect(words(answer)).toEqual(['r2 running', 'nope error', 'r0 completed'])
    expect(answer.requests[1]).toMatchObject({
      error: { code: 'NOT_FOUND', retryable: false, next: expect.any(String), details: { requestId: 'nope', sessionValid: false } },
    })
    expect(answer.requests[2]).toEqual(contentOf(await call('tasks_status', { requestId: 'r0' })))
    const other = await connectTo(started, { owner: 'other' })
    expect(words(contentOf<Several>(await other.call('tasks_status', { requestIds: ['r0', 'r1'] })))).toEqual(['r0 error', 'r1 error'])
    started.one.finish('')
    started.two.finish('')
  })

  it('B118: any answers with the first that ends, all with the last', async () => {
    const { call, one, two } = await three()
    const any = call('tasks_status', { requestIds: ['r1', 'r2'], waitFor: 'any', waitMs: 60_000 })
    const all = call('tasks_status', { requestIds: ['r1', 'r2'], waitMs: 60_000 })
    one.finish('first')
    expect(words(contentOf<Several>(await any))).toEqual(['r1 completed', 'r2 running'])
    two.finish('second')
    expect(words(contentOf<Several>(await all))).toEqual(['r1 completed', 'r2 completed'])
  })

  it('B118: the wait has an upper limit', async () => {
    const { call, clock, one, two } = await three()
    const waiting = call('tasks_status', { requestIds: ['r1', 'r2'], waitFor: 'any', waitMs: 1000 })
    await clock.advance(0)
    await clock.advance(1000)
    expect(words(contentOf<Several>(await waiting))).toEqual(['r1 running', 'r2 running'])
    one.finish('')
    two.finish('')
  })

  it.each([
    ['both forms', { requestId: 'r', requestIds: ['r'] }, ''],
    ['neither', {}, ''],
    ['none', { requestIds: [] }, 'requestIds'],
    ['too many', { requestIds: Array.from({ length: 51 }, (_, place) => `r${place}`) }, 'requestIds'],
    ['an unknown wait', { requestIds: ['r'], waitFor: 'some' }, 'waitFor'],
  ])('B118: refuses %s by name', async (_what, input, path) => {
    const { call } = await connect([testAgent('a')])
    const { code, details } = errorOf(await call('tasks_status', input))
    expect([code, (details['issues'] as { path: string }[])[0]?.path]).toEqual(['PROTOCOL', path])
  })
})
