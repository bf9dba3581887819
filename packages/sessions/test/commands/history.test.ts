import { emptyView, reduceEvents } from '@bowline/agent-loop'
import { fromModelMessages } from '@bowline/llm'
import type { Message } from '@bowline/llm'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { convertToModelMessages, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { recordingStore } from '../recording-store.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { checkLog, logOf } from '../support.ts'
import { talk, textsOf } from './tree/talk.ts'

const answer = { provider: 'other', modelId: 'other', stopReason: 'stop', usage: {}, at: 1, timing: { totalMs: 0 } } as const
const history: readonly Message[] = [
  { role: 'user', content: 'earlier' },
  { role: 'assistant', id: 'a1', content: [{ type: 'text', text: 'said' }], ...answer },
]

const folder = temporaryFolders()

describe.each([
  { name: 'memory', make: memoryStore },
  { name: 'sqlite', make: () => sqliteStore({ file: `${folder()}/data.db` }) },
])('a history over the $name store', ({ make }) => {
  it('comes before the first input, for readers and for the model', async () => {
    const { runtime, model } = await talk({ store: make() })
    const session = runtime.session('room:2', { history })
    await (await session.send('now')).result()
    expect(await textsOf(session)).toEqual(['earlier', 'said', 'now', 're: now'])
    expect(model.calls[0]?.prompt.map(({ role }) => role).filter((role) => role !== 'system')).toEqual(['user', 'assistant', 'user'])
    expect((await session.messages()).items.map(({ id }) => id)).toContain('a1')
    await checkLog(session)
  })

  it('has no effect on an existing session', async () => {
    const { runtime, session, say, texts } = await talk({ store: make() })
    await say('one')
    await (await runtime.session('room:1', { history }).send('two')).result()
    expect(await texts()).toEqual(['one', 're: one', 'two', 're: two'])
    expect((await session.branches()).items).toHaveLength(1)
  })
})

describe('a history', () => {
  it('may be a conversation of useChat, with calls that ran, failed, were refused and never ended', async () => {
    const tool = { type: 'tool-look' as const, input: { at: 'pier' } }
    const pages: UIMessage[] = [
      {
        id: '1',
        role: 'user',
        parts: [
          { type: 'text', text: 'earlier' },
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AQID' },
        ],
      },
      {
        id: '2',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { ...tool, toolCallId: 'a', state: 'output-available', output: 'rain' },
          { ...tool, toolCallId: 'b', state: 'output-error', errorText: 'no light' },
          { ...tool, toolCallId: 'c', state: 'output-denied', approval: { id: 'ask', approved: false, reason: 'closed' } },
          { ...tool, toolCallId: 'd', state: 'input-available' },
          { type: 'step-start' },
          { type: 'text', text: 'said' },
        ],
      },
    ]
    const { runtime, model } = await talk({ store: memoryStore() })
    const session = runtime.session('room:2', { history: fromModelMessages(await convertToModelMessages(pages)) })
    await (await session.send('now')).result()
    const results = model.calls[0]?.prompt.flatMap((message) =>
      message.role === 'tool' ? message.content.map((part) => part.type === 'tool-result' && [part.toolCallId, part.output.type]) : [],
    )
    expect(results).toEqual([
      ['a', 'text'],
      ['b', 'error-text'],
      ['c', 'error-text'],
      ['d', 'error-text'],
    ])
    expect((await session.messages()).items.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool-result',
      'tool-result',
      'tool-result',
      'tool-result',
      'assistant',
      'user',
      'assistant',
    ])
    await checkLog(session)
  })

  it('is stored in the commit that creates the session, with the input', async () => {
    const store = recordingStore(memoryStore())
    const { runtime } = await talk({ store })
    await runtime.session('room:2', { history }).send('now')
    const made = store.commits.find(({ batch }) => batch.writes.some(({ op }) => op === 'session.ensure'))
    expect(made?.batch.writes.map(({ op }) => op)).toEqual(['session.ensure', 'entry.append', 'event.append', 'run.insert', 'event.append'])
  })

  it('S115: is not in the log, so a reader must load the transcript', async () => {
    const { runtime } = await talk()
    const session = runtime.session('room:2', { history })
    await session.open()
    const log = await logOf(session)
    expect(log).toMatchObject([{ type: 'session-start', copied: true }])
    expect(log.reduce(reduceEvents, emptyView).gap).toBe(true)
  })

  it('is refused if it is not a transcript', async () => {
    const { runtime } = await talk()
    const orphan: Message = { role: 'tool-result', toolCallId: 'x', toolName: 'y', output: { type: 'text', value: '' } }
    const twice: Message = { role: 'user', id: 'a1', content: 'again' }
    const many = Array.from({ length: 1001 }, (): Message => ({ role: 'user', content: 'x' }))
    for (const wrong of [[orphan], [...history, twice], [{ role: 'system', content: 'x' } as never], many]) {
      expect(() => runtime.session('room:2', { history: wrong })).toThrow(expect.objectContaining({ code: 'invalid-input' }))
    }
    expect(await runtime.session('room:2').info()).toBeNull()
  })
})
