import { describe, expect, it } from 'vitest'
import type { AgentInput } from '../../src/contract/input.ts'
import type { Taking } from '../../src/kernel/run-context.ts'
import { Inbox } from '../../src/run/inbox.ts'
import type { InputKind } from '../../src/run/inbox.ts'
import { fakeIds } from '../../../testing/src/loop/doubles.ts'

const runEnded = { ok: false, reason: 'run-ended' }
const accepted = (number: number) => ({ ok: true, inputId: `input_${number}` })
const textOf = (input: AgentInput): unknown => (typeof input === 'object' && 'content' in input ? input.content : input)

function setUp(maxQueuedInputs = 100) {
  const inbox = new Inbox(fakeIds(), { maxQueuedInputs })
  return {
    inbox,
    offer: (kind: InputKind, ...texts: readonly string[]) => Promise.all(texts.map((text) => inbox.offer(kind, text))),
    taken: (which: Taking = 'all') => inbox.take(which).map(({ input }) => textOf(input)),
    unused: () => inbox.unused().map(textOf),
  }
}

describe('the inbox', () => {
  it('A94: an input slot takes its inputs in the order of their acceptance, whatever their kind', async () => {
    const { inbox, offer } = setUp()
    const given = await Promise.all([offer('overlay', 'a'), offer('steer', 'b'), offer('notify', 'c'), offer('overlay', 'd')])
    expect(given.flat()).toEqual([1, 2, 3, 4].map(accepted))
    expect(inbox.take('all')).toEqual([
      { inputId: 'input_1', source: 'overlay', input: { role: 'user', content: 'a' } },
      { inputId: 'input_2', source: 'steer', input: { role: 'user', content: 'b' } },
      { inputId: 'input_3', source: 'notify', input: { role: 'user', content: 'c' } },
      { inputId: 'input_4', source: 'overlay', input: { role: 'user', content: 'd' } },
    ])
    expect(inbox.take('all')).toEqual([])
  })

  it('A94: one-at-a-time applies to steering inputs; all overlays are taken', async () => {
    const { offer, taken } = setUp()
    for (const [kind, text] of [
      ['steer', 'a'],
      ['overlay', 'b'],
      ['notify', 'c'],
      ['overlay', 'd'],
    ] as const)
      await offer(kind, text)
    expect(taken('one-at-a-time')).toEqual(['a', 'b', 'd'])
    await offer('overlay', 'e')
    expect(taken('overlays')).toEqual(['e'])
    expect(taken('one-at-a-time')).toEqual(['c'])
  })

  it('A97: follow-ups are taken one by one, and never by an input slot', async () => {
    const { inbox, offer, taken } = setUp()
    await offer('follow-up', 'a', 'b')
    await offer('steer', 'c')
    expect(taken()).toEqual(['c'])
    expect([inbox.hasInputs, inbox.hasFollowUps]).toEqual([false, true])
    expect(inbox.takeFollowUp()).toEqual({ inputId: 'input_1', message: { role: 'user', content: 'a' } })
    expect(inbox.takeFollowUp()?.inputId).toBe('input_2')
    expect([inbox.takeFollowUp(), inbox.hasFollowUps]).toEqual([undefined, false])
  })

  it('A10: an invalid input throws at once', () => {
    const { inbox } = setUp()
    const refusal = expect.objectContaining({ code: 'invalid-input' }) as Error
    expect(() => inbox.offer('steer', [])).toThrow(refusal)
    expect(() => inbox.offer('follow-up', { toolResults: [{ toolCallId: 'a', output: 1 }] })).toThrow(refusal)
    expect(() => inbox.offer('overlay', undefined as never)).toThrow(refusal)
    inbox.end()
    expect(() => inbox.offer('steer', 1 as never)).toThrow(refusal)
  })

  it('A11: an input is copied when it is accepted', async () => {
    const { inbox, taken } = setUp()
    const input = { role: 'user' as const, content: 'before' }
    await inbox.offer('steer', input)
    input.content = 'after'
    expect(taken()).toEqual(['before'])
  })

  it('A95: holds no more than its limit, including inputs that wait for the end of the turn', async () => {
    const { inbox, offer } = setUp(3)
    expect(await offer('steer', 'a')).toEqual([accepted(1)])
    expect(await offer('follow-up', 'b')).toEqual([accepted(2)])
    inbox.close()
    const waiting = inbox.offer('overlay', 'c')
    expect(await offer('follow-up', 'd')).toEqual([{ ok: false, reason: 'queue-full' }])
    inbox.reopen()
    expect(await waiting).toEqual(accepted(3))
    inbox.take('all')
    expect(await offer('steer', 'e')).toEqual([{ ok: false, reason: 'queue-full' }])
    inbox.confirm('input_1')
    expect(await offer('steer', 'e')).toEqual([accepted(4)])
  })

  it('A95: an input offered while the turn ends is accepted when the end is refused', async () => {
    const { inbox, offer, taken } = setUp()
    inbox.close()
    const waiting = Promise.all([inbox.offer('steer', 'a'), inbox.offer('overlay', 'b')])
    expect([inbox.hasInputs, taken()]).toEqual([false, []])
    inbox.reopen()
    await offer('steer', 'c')
    expect(await waiting).toEqual([accepted(1), accepted(2)])
    expect(taken()).toEqual(['a', 'b', 'c'])
  })

  it('A95: an input offered while the turn ends, or after it, is refused as run-ended, and never lost', async () => {
    const { inbox, offer, unused } = setUp()
    inbox.close()
    const waiting = inbox.offer('steer', 'a')
    inbox.endTurn()
    expect(await waiting).toEqual(runEnded)
    expect(await offer('overlay', 'b')).toEqual([runEnded])
    expect(unused()).toEqual([])
  })

  it('A97: a follow-up is accepted until the run ends', async () => {
    const { inbox, offer } = setUp()
    inbox.close()
    expect(await offer('follow-up', 'a')).toEqual([accepted(1)])
    inbox.endTurn()
    expect(await offer('follow-up', 'b')).toEqual([accepted(2)])
    inbox.reopen()
    expect(await offer('steer', 'c')).toEqual([accepted(3)])
    inbox.end()
    expect(await offer('follow-up', 'd')).toEqual([runEnded])
    expect(await offer('steer', 'e')).toEqual([runEnded])
  })

  it('A95: a run that ends early answers every open offer', async () => {
    const { inbox } = setUp()
    inbox.close()
    const waiting = inbox.offer('steer', 'a')
    inbox.end()
    expect(await waiting).toEqual(runEnded)
  })

  it('A96: unused is what was accepted and not stored, in order; taking an input does not use it', async () => {
    const { inbox, offer, unused } = setUp()
    await offer('follow-up', 'a')
    await offer('steer', 'b', 'c')
    inbox.take('one-at-a-time')
    expect(unused()).toEqual(['a', 'b', 'c'])
  })

  it('A96: stored inputs are not unused, and nothing is accepted after the list of the unused', async () => {
    const { inbox, offer, unused } = setUp()
    await offer('steer', 'a', 'b')
    inbox.take('all')
    inbox.confirm('input_1')
    inbox.confirm('an input of the journal')
    expect(unused()).toEqual(['b'])
    expect(await offer('follow-up', 'c')).toEqual([runEnded])
    expect(unused()).toEqual(['b'])
  })
})
