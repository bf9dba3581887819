import { emptyView, reduceEvents } from '@bowline/agent-loop'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { recordingStore, eventTypes } from '../../recording-store.ts'
import { memoryStore } from '@bowline/sessions/memory'
import { checkLog, gate, logOf, types } from '../../support.ts'
import { fileOf, linesOf, look, talk, textsOf } from './talk.ts'

describe('switchTo', () => {
  it('S149: moves the leaf in one commit, deletes nothing, and makes the next entry a child of the target', async () => {
    const store = recordingStore(memoryStore())
    const { session, say, ids, texts } = await talk({ store })
    await say('one', 'two')
    const [, first, , second] = await ids()
    const before = store.commits.length
    expect(await session.switchTo(first ?? '')).toMatchObject({ leaf: first, status: 'completed' })
    expect(store.commits.slice(before).map(({ batch }) => eventTypes(batch))).toEqual([['branch-switched']])
    expect((await logOf(session)).at(-1)).toMatchObject({ type: 'branch-switched', from: second, to: first })
    await say('other')
    expect(await texts()).toEqual(['one', 're: one', 'other', 're: other'])
    const { items } = await store.readPath('room:1', { limit: 1000 })
    expect(items.at(-3)).toMatchObject({ parentId: first })
    expect(await textsOf(session, second)).toEqual(['one', 're: one', 'two', 're: two'])
    await checkLog(session)
  })

  it('S149: is kept by the next runtime, and may go to the root', async () => {
    const store = memoryStore()
    const first = await talk({ store })
    await first.say('one')
    expect(await first.session.switchTo(null)).toMatchObject({ leaf: null })
    await first.runtime.stop()
    const second = await talk({ store })
    expect((await second.session.messages()).items).toEqual([])
    await second.say('anew')
    expect(await second.texts()).toEqual(['anew', 're: anew'])
    expect(JSON.stringify(second.model.calls[0]?.prompt)).not.toContain('one')
  })

  it('S115: a reader that sees the switch knows that its transcript is not the active path', async () => {
    const { session, say, ids } = await talk()
    await say('one', 'two')
    await session.switchTo((await ids())[1] ?? null)
    expect((await logOf(session)).reduce(reduceEvents, emptyView).gap).toBe(true)
  })

  it('S150: an unknown entry is refused', async () => {
    const { session, say } = await talk()
    await say('one')
    const before = await session.info()
    for (const doing of [
      session.switchTo('nowhere'),
      session.fork({ entryId: 'nowhere' }),
      session.label('nowhere', 'x'),
      session.messages({ leaf: 'nowhere' }),
    ]) {
      await expect(doing).rejects.toMatchObject({ code: 'unknown-entry' })
    }
    expect(await session.info()).toEqual(before)
  })

  it('S150: an entry between a call and its results is refused', async () => {
    const steps: Step[] = [
      {
        toolCalls: [
          { id: 'a', name: 'look', input: {} },
          { id: 'b', name: 'look', input: {} },
        ],
      },
      { text: 'done' },
    ]
    const { session, say, ids } = await talk({ steps, tools: [look] })
    await say('look twice')
    const [asked, called, firstResult, secondResult] = await ids()
    const before = await session.info()
    for (const between of [called, firstResult]) {
      await expect(session.switchTo(between ?? '')).rejects.toMatchObject({ code: 'invalid-input' })
      await expect(session.fork({ entryId: between ?? '' })).rejects.toMatchObject({ code: 'invalid-input' })
    }
    expect(await session.info()).toEqual(before)
    expect(await session.switchTo(secondResult ?? '')).toMatchObject({ leaf: secondResult })
    expect(await session.switchTo(asked ?? '')).toMatchObject({ leaf: asked })
  })

  it('S148: needs a session without an open run, as every change of the tree does', async () => {
    const go = gate()
    const { session, say, ids, runtime } = await talk({
      steps: async (_call, index) => {
        if (index === 1) await go.passed
        return { text: 'ok' }
      },
    })
    await say('one')
    const [first = ''] = await ids()
    const lines = await linesOf(session.export())
    const { runId } = await session.send('two')
    const doings = [
      session.switchTo(first),
      session.fork(),
      session.compact(),
      session.label(first, 'x'),
      runtime.importSession(fileOf(lines)),
    ]
    for (const doing of doings) await expect(doing).rejects.toMatchObject({ code: 'busy', runId })
    go.open()
  })

  it('S148: an input that is accepted in the meantime makes the commit fail', async () => {
    const inner = memoryStore()
    let armed = false
    const store = recordingStore(inner, async (batch) => {
      if (!armed || !eventTypes(batch).includes('branch-switched')) return
      armed = false
      await send()
    })
    const { session, say, ids, runtime } = await talk({ store, concurrency: 1 })
    const send = () => runtime.session('room:1').send('meanwhile', {})
    await say('one')
    const [first = ''] = await ids()
    armed = true
    await expect(session.switchTo(first)).rejects.toMatchObject({ code: 'busy' })
    expect(types(await logOf(session))).not.toContain('branch-switched')
  })
})

describe('switchTo with a summary', () => {
  it('S151: covers only the path from the old leaf to the common ancestor', async () => {
    const steps: Step[] = [
      { text: 'A1' },
      { text: 'B1' },
      { text: 'B2' },
      { text: 'C1' },
      { text: 'SUMMARY', usage: { input: 70, output: 7 } },
      { text: 'D' },
    ]
    const { session, say, ids, model } = await talk({ steps })
    await say('shared', 'left one', 'left two')
    const [, shared = '', , , , oldLeaf] = await ids()
    await session.switchTo(shared)
    await say('aside')
    const aside = (await ids()).at(-1) ?? ''
    await session.switchTo(oldLeaf ?? '')
    const usageBefore = (await session.info())?.usage.inputTokens ?? 0
    await session.switchTo(aside, { summarize: true, instructions: 'the colours' })

    const request = JSON.stringify(model.calls[4]?.prompt)
    for (const text of ['left one', 'B1', 'left two', 'B2', 'the colours']) expect(request).toContain(text)
    for (const text of ['shared', 'A1', 'aside', 'C1']) expect(request).not.toContain(text)
    const switched = (await logOf(session)).at(-1)
    expect(switched).toMatchObject({ type: 'branch-switched', from: oldLeaf, to: aside })
    const info = await session.info()
    expect(info?.leaf).toBe(switched?.type === 'branch-switched' && switched.summaryEntryId)
    expect(info?.usage.inputTokens).toBe(usageBefore + 70)

    await say('go on')
    const prompt = JSON.stringify(model.calls[5]?.prompt)
    for (const text of ['aside', 'SUMMARY', 'go on']) expect(prompt).toContain(text)
    expect(prompt).not.toContain('left one')
    await checkLog(session)
  })

  it('S151: the entry names the summarised leaf and the common ancestor', async () => {
    const { session, say, ids, store } = await talk({ steps: [{ text: 'A' }, { text: 'B' }, { text: 'SUMMARY' }] })
    await say('one', 'two')
    const [, ancestor = '', , oldLeaf] = await ids()
    await session.switchTo(ancestor, { summarize: true })
    const [entry] = (await store.readPath('room:1')).items
    expect(entry).toMatchObject({
      type: 'branch-summary',
      parentId: ancestor,
      summary: { text: 'SUMMARY', fromLeaf: oldLeaf, commonAncestor: ancestor },
    })
  })

  it('S151: with nothing to cover it calls no model', async () => {
    const { session, say, ids, model } = await talk()
    await say('one', 'two')
    const all = await ids()
    await session.switchTo(all[1] ?? '')
    // To its own position, and from after a label.
    await session.switchTo(all[3] ?? '', { summarize: true })
    await session.switchTo(all[3] ?? '', { summarize: true })
    await session.label(all[3] ?? '', 'here')
    await session.switchTo(all[3] ?? '', { summarize: true })
    expect(model.calls).toHaveLength(2)
    expect((await logOf(session)).filter((event) => event.type === 'branch-switched' && 'summaryEntryId' in event)).toEqual([])
  })

  it('S151: a failed or cut summary changes nothing', async () => {
    const agent = { retry: false } as const
    const { session, say, ids } = await talk({
      steps: [{ text: 'A' }, { text: 'B' }, { error: new Error('down') }, { text: 'SUMM', finish: 'length' }],
      agent,
    })
    await say('one', 'two')
    const [, first = ''] = await ids()
    const before = await session.info()
    for (const _ of [1, 2]) await expect(session.switchTo(first, { summarize: true })).rejects.toMatchObject({ code: 'summary-failed' })
    expect(await session.info()).toEqual(before)
  })

  it('S151: if the conversation goes on while the summary is made, the leaf stays', async () => {
    const go = gate()
    const { session, say, ids } = await talk({
      steps: async (call, index) => {
        if (index === 2) await go.passed
        return { text: JSON.stringify(call.prompt).includes('summary') ? 'SUMMARY' : 'ok' }
      },
    })
    await say('one', 'two')
    const [, first = ''] = await ids()
    const switching = session.switchTo(first, { summarize: true })
    await say('three')
    go.open()
    await expect(switching).rejects.toMatchObject({ code: 'conflict' })
    expect(await textsOf(session)).toEqual(['one', 'ok', 'two', 'ok', 'three', 'ok'])
  })
})
