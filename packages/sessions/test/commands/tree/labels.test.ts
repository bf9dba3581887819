import { describe, expect, it } from 'vitest'
import { talk } from './talk.ts'

describe('labels and branches', () => {
  it('S153: branches lists every leaf with entry count, last time and label, in stable order', async () => {
    const { session, say, ids } = await talk()
    await say('one', 'two')
    const [, first = '', , second = ''] = await ids()
    await session.label(second, 'the long way')
    await session.switchTo(first)
    expect((await session.branches()).items).toMatchObject([{ entries: 5, label: 'the long way', active: false }])
    await say('other')
    await session.switchTo(first)
    await say('third')
    const { items } = await session.branches()
    expect(items.map(({ entries, label, active }) => ({ entries, label, active }))).toEqual([
      { entries: 5, label: 'the long way', active: false },
      { entries: 4, label: undefined, active: false },
      { entries: 4, label: undefined, active: true },
    ])
    expect(items.map(({ at }) => at)).toEqual(items.map(({ at }) => at).toSorted((a, b) => a - b))
    expect(items.at(-1)?.leaf).toBe((await ids()).at(-1))

    const page1 = await session.branches({ limit: 2 })
    const page2 = await session.branches({ limit: 2, page: page1.next ?? '' })
    expect([...page1.items, ...page2.items]).toEqual(items)
    await session.switchTo(items[0]?.leaf ?? '')
    expect((await session.branches()).items.map(({ leaf, active }) => ({ leaf, active }))).toEqual(
      items.map(({ leaf }, index) => ({ leaf, active: index === 0 })),
    )
  })

  it('S154: labels belong to the active path, not to a sibling', async () => {
    const { session, say, ids } = await talk()
    await say('one')
    const [question = '', answer = ''] = await ids()
    await session.label(question, 'start')
    const shared = (await session.info())?.leaf ?? ''
    await session.label(answer, 'left')
    const left = (await session.info())?.leaf ?? ''
    await session.switchTo(shared)
    expect(await session.labels()).toMatchObject([{ entryId: question, text: 'start' }])
    await session.label(answer, 'right')
    await session.label(question, 'beginning')
    expect(await session.labels()).toMatchObject([
      { entryId: answer, text: 'right' },
      { entryId: question, text: 'beginning' },
    ])
    expect(await session.labels({ leaf: left })).toMatchObject([
      { entryId: question, text: 'start' },
      { entryId: answer, text: 'left' },
    ])
    await session.label(answer, null)
    expect(await session.labels()).toMatchObject([{ entryId: question }])
  })

  it('S154: an entry of another branch and an invalid label are refused', async () => {
    const { session, say, ids } = await talk()
    await say('one', 'two')
    const [, first = '', , second = ''] = await ids()
    await session.switchTo(first)
    const before = await session.info()
    await expect(session.label(second, 'x')).rejects.toMatchObject({ code: 'invalid-input' })
    for (const text of ['', 'x'.repeat(201)]) await expect(session.label(first, text)).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await session.info()).toEqual(before)
  })

  it('S157: labels and custom entries never reach a model, notes do', async () => {
    const { session, say, ids, store, model } = await talk()
    await say('one')
    const [, answer = ''] = await ids()
    await session.label(answer, 'A LABEL')
    const record = await store.readSession('room:1')
    const leaf = 'value' in record ? record.value.leaf : null
    const node = { at: 1, parentId: 'custom' }
    const entries = [
      { ...node, id: 'custom', parentId: leaf, type: 'custom', data: { secret: 'A CUSTOM' } },
      { ...node, id: 'note', type: 'note', text: 'A NOTE' },
    ] as const
    await store.commit({ id: 'notes', key: 'room:1', expect: [], writes: [{ op: 'entry.append', entries }] })
    await say('two')
    const prompt = JSON.stringify(model.calls[1]?.prompt)
    expect(prompt).toContain('A NOTE')
    expect(prompt).not.toMatch(/A LABEL|A CUSTOM/)
  })
})
