import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import type { Journal, StoredMessage } from '../../src/contract/journal.ts'
import type { Compaction } from '../../src/events/message-events.ts'
import { createMemoryJournal, defineAgent } from '../../src/index.ts'
import { ContextEstimate } from '../../src/transcript/estimate.ts'
import { Transcript } from '../../src/transcript/transcript.ts'
import { answer, call, long, used, user } from '../plugins/compaction/messages.ts'

const name = { provider: 'p', modelId: 'm' }
const talk = [user('u1'), answer('a1'), user('u2'), answer('a2')]
const compaction: Compaction = {
  compactionId: 'k1',
  summary: 'the summary',
  firstKeptMessageId: 'u2',
  tokensBefore: 100,
  tokensAfter: 10,
  facts: [],
  source: 'default',
  usage: {},
}

function transcriptOf(messages: readonly StoredMessage[], compacted?: Compaction): Transcript {
  return new Transcript({ messages, ...(compacted && { compaction: compacted }) }, name)
}

describe('a transcript that the next run takes over', () => {
  it('A170: takes what has come since, and is then like one that was read from the beginning', () => {
    const kept = transcriptOf(talk.slice(0, 2))
    expect(kept.follow({ messages: talk }, name)).toBe(true)
    const whole = transcriptOf(talk)
    expect([kept.messages, kept.view, kept.latestInput]).toEqual([whole.messages, whole.view, whole.latestInput])
    expect(kept.estimate.tokens).toBe(whole.estimate.tokens)
    const compacted = transcriptOf(talk.slice(0, 3), compaction)
    expect(compacted.follow({ messages: talk, compaction }, name)).toBe(true)
    expect(compacted.view).toEqual(transcriptOf(talk, compaction).view)
    // A run compacts the view itself.
    kept.shown.setCompaction(compaction)
    expect(kept.follow({ messages: [...talk, user('u3')], compaction }, name)).toBe(true)
    expect(kept.estimate.tokens).toBe(transcriptOf([...talk, user('u3')], compaction).estimate.tokens)
  })

  it('A170: begins with the estimate of a new run, whatever the earlier runs added to theirs', () => {
    const name = { provider: 'scripted', modelId: 'scripted-model' }
    const turns = Array.from({ length: 5 }, (_, n) => [
      user(`u${n}`, long(2_000)),
      answer(`a${n}`, long(500), used(1_000 * (n + 1), 200)),
    ]).flat()
    const kept = new Transcript({ messages: turns.slice(0, 4) }, name)
    for (const read of [4, 6, 6, 10]) {
      expect(kept.follow({ messages: turns.slice(0, read) }, name)).toBe(true)
      const whole = new ContextEstimate(name)
      whole.restart({ messages: turns.slice(0, read), freshFrom: 0 })
      for (const estimate of [kept.estimate, whole]) {
        expect(estimate.tokensPerCharacter).toBeGreaterThan(0.25)
        estimate.usePrompt(4_000)
        estimate.useExtra([user('x', long(1_000))])
      }
      expect([kept.estimate.tokens, kept.estimate.tokensPerCharacter]).toEqual([whole.tokens, whole.tokensPerCharacter])
    }
    const other = { provider: 'p', modelId: 'other' }
    kept.follow({ messages: turns }, other)
    expect(kept.estimate.tokens).toBe(new Transcript({ messages: turns }, other).estimate.tokens)
  })

  it.each<[string, readonly StoredMessage[], Compaction | undefined]>([
    ['it has more messages', talk.slice(0, 3), undefined],
    ['it ends otherwise', [...talk.slice(0, 3), answer('a3'), user('u4')], undefined],
    ['its last message is only alike', structuredClone(talk), undefined],
    ['another compaction is in force', talk, compaction],
  ])('A170: is refused if %s', (_, messages, compaction) => {
    const kept = transcriptOf(talk)
    expect(kept.follow({ messages, ...(compaction && { compaction }) }, name)).toBe(false)
    expect(kept.messages).toEqual(talk)
  })

  it('A170: refuses messages that may not follow', () => {
    const kept = transcriptOf(talk)
    expect(() => kept.follow({ messages: [...talk, answer('a3', [call('c1')]), user('u4')] }, name)).toThrow('u4 follows the open call c1')
  })
})

it('A170: the next run of a journal that gives the same list again shows its model what others have added', async () => {
  const inner = createMemoryJournal()
  const list: StoredMessage[] = []
  const journal: Journal = {
    load: async () => {
      const state = await inner.load()
      list.push(...state.messages.slice(list.length))
      return { ...state, messages: list }
    },
    commit: (records, expect) => inner.commit(records, expect),
  }
  const model = scriptedModel([{ text: 'one' }, { text: 'two' }])
  const agent = defineAgent({ name: 'assistant', model })
  await agent.run('first', { journal }).result()
  await inner.commit([
    { type: 'append', message: user('other') },
    { type: 'append', message: answer('answered') },
  ])
  expect(await agent.run('second', { journal }).result()).toMatchObject({ status: 'completed' })
  expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
  expect(list).toHaveLength(4)
})
