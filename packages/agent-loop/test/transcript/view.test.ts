import { describe, expect, it } from 'vitest'
import type { StoredMessage } from '../../src/contract/journal.ts'
import type { Compaction } from '../../src/events/message-events.ts'
import { Transcript } from '../../src/transcript/transcript.ts'
import { View } from '../../src/transcript/view.ts'
import { answer, call, result, user } from '../plugins/compaction/messages.ts'

function viewOf(messages: readonly StoredMessage[]): View {
  const view = new View()
  for (const message of messages) view.append(message)
  return view
}

function compaction(fields: Partial<Compaction> = {}): Compaction {
  return {
    compactionId: 'k1',
    summary: 'the summary',
    firstKeptMessageId: 'u2',
    tokensBefore: 100,
    tokensAfter: 10,
    facts: [],
    source: 'default',
    usage: {},
    ...fields,
  }
}

const idsOf = (view: View): readonly (string | undefined)[] => view.messages.map(({ id }) => id)
const conversation = [user('u1'), answer('a1'), user('u2'), answer('a2')]

describe('the view', () => {
  it('I8: leaves out failed answers and their results, and keeps aborted ones', () => {
    const failed = answer('a2', [call('c1')], { stopReason: 'error' })
    const stopped = answer('a3', 'half', { stopReason: 'aborted' })
    const view = viewOf([user('u1'), answer('a1'), user('u2'), failed, result('c1', '', 'read', 'cancelled'), user('u3'), stopped])
    expect(idsOf(view)).toEqual(['u1', 'a1', 'u2', 'u3', 'a3'])
    expect(view.append(failed)).toBe(false)
    expect(view.append(user('u4'))).toBe(true)
  })

  it('shows one user message with the marked summary, the kept part, and later messages', () => {
    const view = viewOf(conversation)
    view.setCompaction(compaction())
    view.append(user('u3'))
    expect(idsOf(view)).toEqual(['k1', 'u2', 'a2', 'u3'])
    expect(view.messages[0]).toMatchObject({ role: 'user', content: expect.stringContaining('the summary') as string })
    expect(view.keptFrom).toBe(2)
  })

  it('the summary lists the facts by their kind, and has the same bytes each time', () => {
    const facts = [
      { kind: 'file-read', value: 'a.ts' },
      { kind: 'file-modified', value: 'b.ts' },
      { kind: 'file-read', value: 'c.ts' },
      { kind: 'ticket', value: '42' },
    ]
    const bytes = [0, 1].map(() => {
      const view = viewOf(conversation)
      view.setCompaction(compaction({ facts }))
      return JSON.stringify(view.messages)
    })
    expect(bytes[0]).toBe(bytes[1])
    expect(bytes[0]).toContain('Files read: a.ts, c.ts\\nFiles changed: b.ts\\nticket: 42')
  })

  it('A132: without the compaction it equals the old view', () => {
    const view = viewOf(conversation)
    view.setCompaction(compaction())
    view.append(user('u3'))
    expect(view.uncompacted).toEqual([...conversation, user('u3')])
    view.setCompaction(undefined)
    expect(view.messages).toEqual([...conversation, user('u3')])
    expect(view.compaction).toBeUndefined()
  })

  it('a later compaction replaces the earlier one', () => {
    const view = viewOf(conversation)
    view.setCompaction(compaction())
    view.append(user('u3'))
    view.setCompaction(compaction({ compactionId: 'k2', firstKeptMessageId: 'u3' }))
    expect(idsOf(view)).toEqual(['k2', 'u3'])
  })

  it('a compaction that keeps nothing shows only later messages, also when the journal loads only these', () => {
    const nothing = compaction({ firstKeptMessageId: '', lastMessageId: 'a2' })
    const whole = viewOf([...conversation, user('u3')])
    whole.setCompaction(nothing)
    expect(idsOf(whole)).toEqual(['k1', 'u3'])
    const rest = viewOf([user('u3')])
    rest.setCompaction(nothing)
    expect(idsOf(rest)).toEqual(['k1', 'u3'])
  })

  it('A132: a compaction whose first kept message was withdrawn shows the messages again', () => {
    const view = viewOf(conversation)
    view.setCompaction(compaction())
    view.discard(['u2', 'a2'])
    expect(idsOf(view)).toEqual(['u1', 'a1'])
    expect(view.compaction).toBeUndefined()
  })

  it('withdrawing messages after a compaction leaves it in force', () => {
    const view = viewOf([...conversation, user('u3')])
    view.setCompaction(compaction())
    view.discard(['u3'])
    expect(idsOf(view)).toEqual(['k1', 'u2', 'a2'])
  })

  it('knows which messages came after the compaction', () => {
    const view = viewOf([...conversation, user('u3')])
    expect(view.freshFrom).toBe(0)
    view.setCompaction(compaction({ lastMessageId: 'a2' }))
    expect(view.messages[view.freshFrom]).toMatchObject({ id: 'u3' })
    view.setCompaction(compaction())
    expect(view.freshFrom).toBe(view.messages.length)
  })

  it('appending does not rebuild the list', () => {
    const view = viewOf(conversation)
    view.setCompaction(compaction())
    const before = view.messages
    view.append(user('u3'))
    expect(view.messages).toBe(before)
  })
})

describe('the transcript', () => {
  it('A47: knows the newest user message, also after messages were removed', () => {
    const transcript = new Transcript({ messages: conversation }, { provider: 'p', modelId: 'm' })
    expect(transcript.latestInput?.id).toBe('u2')
    transcript.append(user('u3'))
    expect(transcript.latestInput?.id).toBe('u3')
    transcript.discard(['u3'])
    expect(transcript.latestInput?.id).toBe('u2')
    transcript.discard(['u1', 'a1', 'u2', 'a2'])
    expect(transcript.latestInput).toBeUndefined()
  })
})
