import { describe, expect, it } from 'vitest'
import { AgentError } from '../../../src/base/agent-error.ts'
import type { CompactionRequest, Compactor } from '../../../src/contract/compaction.ts'
import type { BeforeCompaction } from '../../../src/contract/extension.ts'
import type { StoredMessage } from '../../../src/contract/journal.ts'
import { nullCompaction } from '../../../src/plugins/compaction/policy.ts'
import { requestText, testHost } from './host.ts'
import { answer, long, step, used, user } from './messages.ts'

/** Three turns; the last one has about the size that is kept. */
const turns: readonly StoredMessage[] = [
  ...[user('u1', `first ${long(4_000)}`), ...step('a1', { path: 'a.ts' }, long(4_000)), answer('a2', long(400))],
  ...[user('u2', long(400)), answer('a3', long(400))],
  ...[user('u3', long(60)), answer('a4', long(60), used(2_400, 15))],
]
const usage = { input: 700, output: 70 }
const summary = { text: 'the summary', usage }

describe('a compaction', () => {
  it('shows the summary in place of what is older than the kept part', async () => {
    const host = testHost({ messages: turns, steps: [summary] })
    const outcome = await host.run()
    expect(host.view.messages.map(({ id }) => id)).toEqual([outcome.compaction?.compactionId, 'u3', 'a4'])
    expect(outcome).toMatchObject({
      outcome: 'done',
      compaction: { summary: 'the summary', firstKeptMessageId: 'u3', lastMessageId: 'a4', source: 'default', usage: { inputTokens: 700 } },
    })
    expect(outcome.tokensAfter).toBeLessThan(outcome.tokensBefore / 10)
    expect(outcome.compaction).toMatchObject({ tokensBefore: outcome.tokensBefore, tokensAfter: outcome.tokensAfter })
    expect(host.estimate.tokens).toBe(outcome.tokensAfter)
    host.scripted.assertDone()
  })

  it('stores its start before the call, and usage, end and record in one commit', async () => {
    const host = testHost({ messages: turns, steps: [summary] })
    await host.run({ trigger: 'threshold' })
    expect(host.commits).toEqual([['compaction-start'], ['usage', 'compaction-end', 'record']])
    const ids = new Set(host.events.flatMap((event) => ('compactionId' in event ? event.compactionId : [])))
    expect(ids.size).toBe(1)
    expect(host.events[0]).toMatchObject({ trigger: 'threshold' })
  })

  it('A132: the original messages stay, and the view without the compaction equals the old view', async () => {
    const host = testHost({ messages: turns, steps: [summary] })
    const before = JSON.stringify(host.view.messages)
    await host.run()
    expect(JSON.stringify(host.view.uncompacted)).toBe(before)
    host.view.setCompaction(undefined)
    expect(JSON.stringify(host.view.messages)).toBe(before)
  })

  it('A133: the request fits the window together with its own output', async () => {
    const host = testHost({ messages: turns, steps: [summary], contextWindow: 100_000, summaryWindow: 2_000 })
    expect(await host.run()).toMatchObject({ outcome: 'done' })
    const maxTokens = host.scripted.calls[0]?.maxOutputTokens ?? Infinity
    expect(requestText(host.scripted).length / 4 + maxTokens).toBeLessThanOrEqual(2_000)
    expect(requestText(host.scripted)).toContain('[earlier messages left out]')
  })

  it('A133: fails without a call if the window has no room for it', async () => {
    const host = testHost({ messages: turns, summaryWindow: 500 })
    expect(await host.run()).toMatchObject({ outcome: 'failed' })
    expect(host.scripted.calls).toEqual([])
  })

  it('A133: a summary that was cut by its output limit is not stored, and its usage is booked', async () => {
    const host = testHost({ messages: turns, steps: [{ ...summary, finish: 'length' }] })
    const before = host.view.messages
    expect(await host.run()).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('output limit') as string,
      usage: { inputTokens: 700 },
    })
    expect(host.view.messages).toBe(before)
    expect(host.commits).toEqual([['compaction-start'], ['usage', 'compaction-end']])
    expect(host.booked).toMatchObject([{ usage: { inputTokens: 700 } }])
  })

  it.each([
    ['a call that fails', { error: new Error('down') }],
    ['an answer that breaks', { text: 'the', finish: false as const }],
    ['an empty answer', { text: ' ' }],
  ])('A134: %s changes nothing', async (_name, failing) => {
    const host = testHost({ messages: turns, steps: [failing] })
    const before = host.view.messages
    expect(await host.run()).toMatchObject({ outcome: 'failed' })
    expect(host.view.messages).toBe(before)
    expect(host.view.compaction).toBeUndefined()
    expect(host.events.map(({ type }) => type)).toEqual(['compaction-start', 'usage', 'compaction-end'])
  })

  it('A134: a stop while the summary is written cancels it and books its usage', async () => {
    const stop = new AbortController()
    const wait = new Promise<void>((resolve) => setImmediate(() => resolve(stop.abort())))
    const host = testHost({
      messages: turns,
      abortSignal: stop.signal,
      steps: [{ text: 'the', parts: [{ wait }, { hang: true }], finish: false }],
    })
    expect(await host.run()).toMatchObject({ outcome: 'cancelled' })
    expect(host.events.map(({ type }) => type)).toEqual(['compaction-start', 'usage', 'compaction-end'])
    expect(host.view.compaction).toBeUndefined()
    expect(host.settled).toHaveLength(1)
  })

  it('A134: makes no call if it is stopped before', async () => {
    const host = testHost({ messages: turns, abortSignal: AbortSignal.abort() })
    expect(await host.run()).toMatchObject({ outcome: 'cancelled' })
    expect(host.scripted.calls).toEqual([])
  })

  it('A135: is skipped without a call if nothing is older than the kept part', async () => {
    const host = testHost({ messages: turns, compaction: { keepRecentTokens: 10_000 } })
    expect(await host.run()).toMatchObject({ outcome: 'skipped' })
    expect(host.scripted.calls).toEqual([])
    expect(host.commits).toEqual([['compaction-start', 'compaction-end']])
  })

  it('A136: a second compaction includes the previous summary, and facts accumulate', async () => {
    const host = testHost({ messages: turns, steps: [summary, { text: 'the second' }] })
    await host.run()
    host.append(user('u4', long(400)), ...step('a5', { path: 'b.ts' }, 'ok', 'write'), user('u5', long(100)))
    const { compaction } = await host.run()
    expect(requestText(host.scripted, 1)).toContain('<previous-summary>\nthe summary\n</previous-summary>')
    expect(requestText(host.scripted, 1)).not.toContain('first')
    expect(compaction?.facts).toEqual([
      { kind: 'tool', value: 'read' },
      { kind: 'file-read', value: 'a.ts' },
      { kind: 'tool', value: 'write' },
      { kind: 'file-modified', value: 'b.ts' },
    ])
    expect(host.view.messages.map(({ id }) => id)).toEqual([compaction?.compactionId, 'u5'])
    expect(JSON.stringify(host.view.messages)).not.toContain('\\n\\nthe summary')
  })

  it('A137: its usage is booked once, in the event, in the sums and in the budget', async () => {
    const host = testHost({ messages: turns, steps: [summary] })
    await host.run()
    const spending = { inputTokens: 700, outputTokens: 70 }
    expect(host.booked).toMatchObject([{ usage: spending }])
    expect(host.settled).toMatchObject([{ usage: spending }])
    expect(host.events[1]).toMatchObject({ type: 'usage', purpose: 'compaction', usage: spending, model: { provider: 'scripted' } })
  })

  it('A137: is skipped without a call if the budget has no room', async () => {
    const asked: unknown[] = []
    const host = testHost({ messages: turns, reserve: (expected) => void asked.push(expected) })
    expect(await host.run()).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('budget') as string })
    expect(host.scripted.calls).toEqual([])
    expect(asked).toEqual([{ inputTokens: expect.any(Number) as number, outputTokens: 16_384 }])
  })

  it('A138: failures and small shrinks in a row open the breaker, a useful compaction closes it', async () => {
    const useless = { text: long(9_000) }
    const host = testHost({ messages: turns, compaction: { maxFailures: 2 }, steps: [{ error: new Error('down') }, useless, summary] })
    const isOpen = (): boolean => host.breaker.isOpen(2, host.model)
    await host.run({ trigger: 'threshold' })
    expect(isOpen()).toBe(false)
    expect(await host.run({ trigger: 'threshold' })).toMatchObject({ outcome: 'done' })
    expect(isOpen()).toBe(true)
    host.append(user('u4', long(400)), answer('a5', long(400)))
    expect(await host.run({ trigger: 'manual' })).toMatchObject({ outcome: 'done' })
    expect(isOpen()).toBe(false)
  })

  it('A138: skipped and cancelled compactions do not count', async () => {
    const host = testHost({ messages: turns, compaction: { maxFailures: 1 }, beforeCompaction: async () => ({ cancel: true }) })
    await host.run({ trigger: 'threshold' })
    expect(host.breaker.isOpen(1, host.model)).toBe(false)
  })

  it('A141: switched off or with nullCompaction it changes nothing and leaves no trace', async () => {
    for (const compaction of [false, nullCompaction] as const) {
      const host = testHost({ messages: turns, compaction })
      const before = host.view.messages
      expect(await host.run()).toMatchObject({ outcome: 'skipped' })
      expect(host.view.messages).toBe(before)
      expect(host.commits).toEqual([])
    }
  })

  it('after an overflow it keeps less, so that there is something to summarise', async () => {
    const host = testHost({ messages: turns, compaction: { keepRecentTokens: 20_000 }, steps: [summary] })
    expect(await host.run({ trigger: 'manual' })).toMatchObject({ outcome: 'skipped' })
    const { outcome, tokensBefore, tokensAfter } = await host.run({ trigger: 'overflow' })
    expect(outcome).toBe('done')
    expect(tokensAfter).toBeLessThan(tokensBefore * 0.9)
  })

  it('puts the first part of a split turn in a paragraph of its own', async () => {
    const messages = [
      user('u1', 'old turn'),
      answer('a1'),
      user('u2', 'long turn'),
      ...step('a2', {}, long(800)),
      ...step('a3', {}, long(800)),
    ]
    const host = testHost({ messages, compaction: { keepRecentTokens: 150 }, steps: [summary] })
    const { compaction } = await host.run()
    expect(compaction?.firstKeptMessageId).toBe('a3')
    const text = requestText(host.scripted)
    expect(text.slice(text.indexOf('<turn-under-way>'))).toContain('long turn')
    expect(text.slice(0, text.indexOf('<turn-under-way>'))).toContain('old turn')
  })

  it('a rejected commit leaves the view unchanged, and the error is passed on', async () => {
    const host = testHost({
      messages: turns,
      steps: [summary],
      commit: async (boundary) => {
        if (boundary === 'end') throw new AgentError('journal-failed', 'full')
      },
    })
    const before = host.view.messages
    await expect(host.run()).rejects.toThrow('full')
    expect(host.view.messages).toBe(before)
  })

  it('an error on the way is the reason of the failure', async () => {
    const facts = (): never => {
      throw new Error('no facts')
    }
    const host = testHost({ messages: turns, compaction: { facts } })
    expect(await host.run()).toMatchObject({ outcome: 'failed', reason: 'compaction.facts failed: no facts' })
    expect(host.scripted.calls).toEqual([])
  })
})

describe('extensions at a compaction', () => {
  it('A140: may cancel the compaction', async () => {
    const host = testHost({ messages: turns, beforeCompaction: async () => ({ cancel: true, reason: 'not now' }) })
    expect(await host.run()).toMatchObject({ outcome: 'cancelled', reason: 'not now' })
    expect(host.view.compaction).toBeUndefined()
  })

  it('A140: may replace the compaction without a model call', async () => {
    const host = testHost({
      messages: turns,
      beforeCompaction: async () => ({ compaction: { summary: 'mine', firstKeptMessageId: 'u2' } }),
    })
    expect(await host.run()).toMatchObject({ outcome: 'done', compaction: { summary: 'mine', source: 'extension', usage: {} } })
    expect(host.view.messages.map(({ id }) => id).slice(1)).toEqual(['u2', 'a3', 'u3', 'a4'])
    expect(host.scripted.calls).toEqual([])
    expect(host.events.map(({ type }) => type)).toEqual(['compaction-start', 'compaction-end'])
    expect(host.view.compaction?.facts).toContainEqual({ kind: 'file-read', value: 'a.ts' })
  })

  it.each(['r-c-a1', 'u1', 'nobody'])('A131: a replacement cannot cut at %s', async (firstKeptMessageId) => {
    const host = testHost({ messages: turns, beforeCompaction: async () => ({ compaction: { summary: 'mine', firstKeptMessageId } }) })
    const reason = `the compaction of an extension failed: firstKeptMessageId "${firstKeptMessageId}" is not a message at which the conversation can be cut`
    expect(await host.run()).toMatchObject({ outcome: 'failed', reason })
    expect(host.view.compaction).toBeUndefined()
  })

  it('a replacement may keep no message', async () => {
    const host = testHost({ messages: turns, beforeCompaction: async () => ({ compaction: { summary: 'mine', firstKeptMessageId: '' } }) })
    const { compaction } = await host.run()
    expect(host.view.messages.map(({ id }) => id)).toEqual([compaction?.compactionId])
    host.append(user('u4'))
    expect(host.view.messages).toHaveLength(2)
  })

  it('A140: may add instructions, after those of the policy and the caller', async () => {
    const seen: BeforeCompaction[] = []
    const host = testHost({
      messages: turns,
      compaction: { instructions: 'the policy' },
      steps: [summary],
      beforeCompaction: async (event) => {
        seen.push(event)
        return { instructions: 'the extension' }
      },
    })
    await host.run({ instructions: 'the caller' })
    expect(seen).toMatchObject([{ trigger: 'manual', firstKeptMessageId: 'u3', instructions: 'the policy\nthe caller' }])
    const text = requestText(host.scripted)
    const places = ['the policy', 'the caller', 'the extension'].map((focus) => text.indexOf(focus))
    expect(places).not.toContain(-1)
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })

  it('are notified after the commit', async () => {
    const order: string[] = []
    const host = testHost({
      messages: turns,
      steps: [summary],
      commit: async (boundary) => void order.push(boundary),
      afterCompaction: async ({ summary: text }) => void order.push(text),
    })
    await host.run()
    expect(order).toEqual(['start', 'end', 'the summary'])
  })
})

describe('a compactor', () => {
  const made = {
    compactionId: 'x',
    summary: 'short',
    firstKeptMessageId: 'u3',
    tokensBefore: 1,
    tokensAfter: 1,
    facts: [{ kind: 'ticket', value: '42' }],
    source: 'x',
    usage: { inputTokens: 9 },
  }

  function compactorOf(compact: Compactor['compact']): Compactor {
    return { name: 'mine', compact }
  }

  it('receives the view and makes the compaction, with the ids and figures of the runtime', async () => {
    const requests: CompactionRequest[] = []
    const host = testHost({
      messages: turns,
      compaction: compactorOf(async (request) => {
        requests.push(request)
        return made
      }),
    })
    const { compaction, tokensBefore } = await host.run({ instructions: 'look' })
    expect(requests).toMatchObject([{ trigger: 'manual', view: turns, tokensBefore, contextWindow: 100_000, instructions: 'look' }])
    expect(compaction).toMatchObject({
      compactionId: requests[0]?.compactionId,
      source: 'mine',
      summary: 'short',
      tokensBefore,
      facts: made.facts,
    })
    expect(host.booked).toMatchObject([{ usage: { inputTokens: 9 } }])
    expect(host.settled).toMatchObject([{ usage: { inputTokens: 9 } }])
  })

  it('may leave the view unchanged', async () => {
    const host = testHost({ messages: turns, compaction: compactorOf(async () => undefined) })
    expect(await host.run()).toMatchObject({ outcome: 'skipped', reason: 'mine left the view as it is' })
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('broken')), 'broken'],
    [
      'throws',
      () => {
        throw new Error('broken')
      },
      'broken',
    ],
    [
      'parts a pair',
      async () => ({ ...made, firstKeptMessageId: 'r-c-a1' }),
      'firstKeptMessageId "r-c-a1" is not a message at which the conversation can be cut',
    ],
    ['says nothing', async () => ({ ...made, summary: '' }), 'the summary is empty'],
    ['gives null', async () => null as never, 'the compaction that it returns must be an object; received null'],
    ['gives a number', async () => 7 as never, 'the compaction that it returns must be an object; received 7'],
    ['gives a list', async () => [made] as never, 'the compaction that it returns must be an object; received a list of 1'],
    ['gives what is no JSON', async () => ({ ...made, facts: [() => 1] as never }), '/facts/0 is not a JSON value'],
    ['gives facts of another form', async () => ({ ...made, facts: 7 as never }), 'facts must be a list of { kind, value }'],
  ] as const)('A134: a compactor that %s makes the compaction fail, and the error names it', async (_name, compact, problem) => {
    const host = testHost({ messages: turns, compaction: compactorOf(compact) })
    const reason = expect.stringContaining(`the compactor mine failed: ${problem}`) as string
    expect(await host.run()).toMatchObject({ outcome: 'failed', reason })
    expect(host.events).toContainEqual(expect.objectContaining({ type: 'compaction-end', outcome: 'failed', reason }))
    expect(host.view.compaction).toBeUndefined()
  })

  it('A134: the runtime does not wait for a compactor that ignores its signal', async () => {
    const stop = new AbortController()
    const host = testHost({
      messages: turns,
      abortSignal: stop.signal,
      compaction: compactorOf(() => {
        setImmediate(() => stop.abort())
        return new Promise(() => undefined)
      }),
    })
    expect(await host.run()).toMatchObject({ outcome: 'cancelled' })
  })
})
