import { defineAgent, defineExtension, emptyView, reduceEvents } from '@bowline/agent-loop'
import { manualClock, type Step } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { checkLog, gate, logOf, types } from '../../support.ts'
import { look, quiet, smallWindow, talk } from './talk.ts'

const long = 'x'.repeat(400)
const used = (input: number): NonNullable<Step['usage']> => ({ input, output: 1 })
/** Returns an answer that ends when `until` resolves. */
const slowly = (text: string, until: Promise<void>): Step => ({
  parts: [{ type: 'text-start', id: 't' }, { wait: until }, { type: 'text-delta', id: 't', delta: text }, { type: 'text-end', id: 't' }],
})

describe('a manual compaction', () => {
  it('S156: summarises the older part for the model; the originals stay readable', async () => {
    const { model, options } = smallWindow([{ text: long }, { text: long }, { text: 'SUMMARY', usage: used(70) }, { text: 'on' }])
    const { session, say, texts } = await talk(options)
    await say(`FIRST ${long}`, `SECOND ${long}`)
    const result = await session.compact({ instructions: 'the numbers' })
    expect(result).toMatchObject({ outcome: 'done', compaction: { summary: 'SUMMARY' }, usage: { inputTokens: 70 } })
    expect(await session.info()).toMatchObject({ leaf: result.entryId, status: 'completed' })
    expect(JSON.stringify(model.calls[2]?.prompt)).toContain('the numbers')
    await say('THIRD')
    const prompt = JSON.stringify(model.calls[3]?.prompt)
    expect(prompt).toContain('SUMMARY')
    expect(prompt).not.toContain('FIRST')
    expect((await texts())[0]).toContain('FIRST')
    expect((await session.runs()).items.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'user completed',
      'user completed',
      'compaction completed',
      'user completed',
    ])
    await checkLog(session)
  })

  it('S156: is told to hooks as saved and settled, like a turn', async () => {
    const told: string[] = []
    const hooks = {
      afterCompaction: () => void told.push('compacted'),
      onSavePoint: ({ turn }: { readonly turn: number }) => void told.push(`saved ${turn}`),
      onSettled: ({ turn }: { readonly turn: number }) => void told.push(`settled ${turn}`),
    }
    const { options } = smallWindow([{ text: long }, { text: long }, { text: 'SUMMARY' }])
    const { session, say, runtime } = await talk({
      ...options,
      agent: { ...options.agent, extensions: [defineExtension({ name: 'mine', hooks })] },
    })
    await say(long, long)
    expect((await session.compact()).outcome).toBe('done')
    await checkLog(session)
    await runtime.stop()
    expect(told).toEqual(['saved 1', 'settled 1', 'saved 2', 'settled 2', 'compacted', 'saved 2', 'settled 2'])
  })

  it('S156: never parts a call from its result', async () => {
    const steps: Step[] = [
      { text: long },
      { text: long, toolCalls: [{ id: 'a', name: 'look', input: {} }] },
      { text: 'ok' },
      { text: 'SUMMARY' },
      { text: 'on' },
    ]
    const { options } = smallWindow(steps)
    const { session, say, ids } = await talk({
      ...options,
      tools: [look],
      agent: { ...options.agent, compaction: { reserveTokens: 1_000, keepRecentTokens: 3 } },
    })
    await say(long, 'look')
    const { compaction } = await session.compact()
    const all = await ids()
    const roles = (await session.messages()).items.map((message) => message.role)
    expect(roles[all.indexOf(compaction?.firstKeptMessageId ?? '')]).not.toBe('tool-result')
    await say('more')
    await checkLog(session)
  })

  it('S155: a summary that fails or is cut off changes only the log', async () => {
    const { options } = smallWindow([{ text: long }, { text: long }, { error: new Error('down') }, { text: 'SUMM', finish: 'length' }])
    const { session, say } = await talk(options)
    await say(long, long)
    const leaf = (await session.info())?.leaf
    expect(await session.compact()).toMatchObject({ outcome: 'failed' })
    expect(await session.compact()).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('cut') })
    expect(await session.info()).toMatchObject({ leaf, status: 'completed' })
    await checkLog(session)
  })

  it('S155: inputs queue until it ends, so the summarised leaf is still the leaf', async () => {
    const go = gate()
    const { model, options } = smallWindow([{ text: long }, { text: long }, slowly('SUMMARY', go.passed), { text: 'on' }])
    const { session, say, texts } = await talk(options)
    await say(`FIRST ${long}`, long)
    const leaf = (await session.info())?.leaf ?? ''
    const compacting = session.compact()
    for await (const event of session.events()) if (event.type === 'compaction-start') break
    const next = await session.send('THIRD', { onBusy: 'reject' })
    expect(await next.status()).toBe('queued')
    await expect(session.switchTo(leaf)).rejects.toMatchObject({ code: 'busy' })
    go.open()
    expect(await compacting).toMatchObject({ outcome: 'done' })
    await next.result()
    expect(JSON.stringify(model.calls[3]?.prompt)).toContain('SUMMARY')
    expect((await texts()).slice(-2)).toEqual(['THIRD', 'on'])
    await checkLog(session)
  })

  it('S155: a stop leaves the transcript as it was', async () => {
    const { options } = smallWindow([{ text: long }, { text: long }, { hang: 'middle', text: 'half' }])
    const { session, say } = await talk(options)
    await say(long, long)
    const leaf = (await session.info())?.leaf
    const compacting = session.compact()
    for await (const event of session.events()) if (event.type === 'compaction-start') break
    expect(await session.stop()).toMatchObject({ state: 'settled', status: 'stopped' })
    expect(await compacting).toMatchObject({ outcome: 'cancelled' })
    expect(await session.info()).toMatchObject({ leaf, status: 'completed' })
    expect((await logOf(session)).reduce(reduceEvents, emptyView).phase).toBe('idle')
    await checkLog(session)
  })

  it('S155: with nothing to summarise, or with compaction off, no model is called', async () => {
    const { options } = smallWindow([{ text: 'short' }])
    const { session, say } = await talk(options)
    await say('hi')
    expect(await session.compact()).toMatchObject({ outcome: 'skipped' })
    const off = await talk({ agent: { compaction: false } })
    await off.say('hi')
    expect(await off.session.compact()).toMatchObject({ outcome: 'skipped' })
    expect(off.model.calls).toHaveLength(1)
    expect(await off.session.info()).toMatchObject({ status: 'completed' })
  })

  it('S60: if its process dies, the next process makes the compaction, once', async () => {
    const store = memoryStore()
    const clock = manualClock()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const first = await talk({
      ...smallWindow([{ text: long }, { text: long }, { hang: 'middle', text: 'half' }]).options,
      store,
      clock: manualClock(),
    })
    await first.say(long, long)
    void first.session.compact().catch(() => undefined)
    for await (const event of first.session.events()) if (event.type === 'compaction-start') break
    const second = await talk({ ...smallWindow([{ text: 'SUMMARY' }]).options, store, clock })
    await clock.advance(20_000)
    for await (const event of second.session.events()) if (event.type === 'compaction-end') break
    await quiet(store, 'room:1')
    const log = await checkLog(second.session)
    expect(types(log).filter((type) => type.startsWith('compaction'))).toEqual(['compaction-start', 'compaction-start', 'compaction-end'])
    expect((await second.session.runs()).items.at(-1)).toMatchObject({ kind: 'compaction', status: 'completed' })
  })

  it('S101: if it is stopped after its process died, it ends without a model call', async () => {
    const store = memoryStore()
    const clock = manualClock()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const first = await talk({
      ...smallWindow([{ text: long }, { text: long }, { hang: 'middle', text: 'half' }]).options,
      store,
      clock: manualClock(),
    })
    await first.say(long, long)
    void first.session.compact().catch(() => undefined)
    for await (const event of first.session.events()) if (event.type === 'compaction-start') break
    const second = await talk({ ...smallWindow([]).options, store, clock })
    const stopping = second.session.stop({ waitMs: 60_000 })
    await clock.advance(20_000)
    expect(await stopping).toMatchObject({ status: 'stopped' })
    const log = await checkLog(second.session)
    expect(log.slice(-2)).toMatchObject([{ type: 'compaction-end', outcome: 'cancelled' }, { type: 'settled' }])
  })
})

describe('a compaction that is due after a turn', () => {
  it('S104: a kill ends it, and the log says so', async () => {
    const { options } = smallWindow([
      { text: long, usage: used(9_100) },
      { hang: 'middle', text: 'half' },
    ])
    const { session, say, runtime } = await talk(options)
    await say(long)
    for await (const event of session.events()) if (event.type === 'compaction-start') break
    expect(await session.kill()).toMatchObject({ state: 'settled', status: 'stopped' })
    const log = await checkLog(runtime.session('room:1'))
    expect(log.slice(-2)).toMatchObject([{ type: 'compaction-end', outcome: 'cancelled' }, { type: 'settled' }])
  })

  it('S132: the subagent makes its own compaction, and its parent is told nothing', async () => {
    const { model, options } = smallWindow([{ text: long, usage: used(9_100) }, { text: 'SUMMARY' }])
    const helper = defineAgent({ name: 'helper', description: 'Helps.', ...options.agent })
    const steps: Step[] = [
      { toolCalls: [{ id: 'a', name: 'delegate_to_helper', input: { prompt: long, description: 'help' } }] },
      { text: 'done' },
    ]
    const { session, say, runtime, store, faults } = await talk({ steps, agent: { subagents: [helper] } })
    await say('go')
    const child = (await runtime.sessions({ parent: 'room:1' })).items[0]?.key ?? ''
    await quiet(store, child)
    expect((await store.listRuns(child)).items.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'child completed',
      'compaction completed',
    ])
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('summary')
    expect(await session.info()).toMatchObject({ status: 'completed' })
    expect(faults).toEqual([])
  })

  it('S19: it is a run of its own after the turn, and settled comes when it is over', async () => {
    const { options } = smallWindow([{ text: long, usage: used(9_100) }, { text: 'SUMMARY' }, { text: 'on' }])
    const { session, say } = await talk(options)
    const run = await session.send(`FIRST ${long}`)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    for await (const event of session.events()) if (event.type === 'settled') break
    const log = await checkLog(session)
    expect(types(log).slice(-5)).toEqual(['save-point', 'compaction-start', 'usage', 'compaction-end', 'settled'])
    expect(log.find(({ type }) => type === 'compaction-start')).toMatchObject({ trigger: 'threshold' })
    await say('more')
    const { items } = await session.runs()
    expect(items.map(({ kind }) => kind)).toEqual(['user', 'compaction', 'user'])
  })

  it('A138: after three failures in a row no automatic compaction runs, but a manual one does', async () => {
    const turns = Array.from({ length: 3 }, (): Step[] => [{ text: long, usage: used(9_100) }, { error: new Error('down') }]).flat()
    const { options } = smallWindow([...turns, { text: long, usage: used(9_100) }, { text: 'by hand' }])
    const { session, store, say } = await talk(options)
    for (let turn = 0; turn < 4; turn++) {
      await say(long)
      await quiet(store, 'room:1')
    }
    expect((await logOf(session)).filter(({ type }) => type === 'compaction-start')).toHaveLength(3)
    expect(await session.compact()).toMatchObject({ outcome: 'done', compaction: { summary: 'by hand' } })
    await checkLog(session)
  })

  it('S19: it goes before queued inputs', async () => {
    const { model, options } = smallWindow([{ text: long, usage: used(9_100) }, { text: 'SUMMARY' }, { text: 'on' }])
    const { session } = await talk(options)
    const [, second] = [await session.send(`FIRST ${long}`), await session.send('SECOND')]
    await second.result()
    expect(JSON.stringify(model.calls[2]?.prompt)).toContain('SUMMARY')
    await checkLog(session)
  })

  it('S9: a runtime that stops gives it back, and the next runtime makes it', async () => {
    const store = memoryStore()
    const first = await talk({
      ...smallWindow([
        { text: long, usage: used(9_100) },
        { hang: 'middle', text: 'half' },
      ]).options,
      store,
    })
    await first.say(long)
    for await (const event of first.session.events()) if (event.type === 'compaction-start') break
    await first.runtime.stop()
    const second = await talk({ ...smallWindow([{ text: 'SUMMARY' }]).options, store })
    for await (const event of second.session.events()) if (event.type === 'settled') break
    const log = await checkLog(second.session)
    expect(types(log).filter((type) => type.startsWith('compaction'))).toEqual([
      'compaction-start',
      'compaction-end',
      'compaction-start',
      'compaction-end',
    ])
    expect((await second.session.runs()).items.at(-1)).toMatchObject({ kind: 'compaction', status: 'completed', attempts: 0 })
  })

  it('S82: if it is stopped before it begins, the queued inputs go on', async () => {
    const store = memoryStore()
    const { options } = smallWindow([{ text: long, usage: used(9_100) }])
    // The process dies at the end of the turn.
    let dead = false
    const dying = faultyStore(store, [{ of: 'claim', when: () => dead, fault: 'unavailable' }])
    const first = await talk({ ...options, store: dying })
    const run = await first.session.send(long)
    dead = true
    await run.result()
    expect((await first.session.runs()).items.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'user completed',
      'compaction queued',
    ])
    expect(await first.session.stop({ waitMs: 0 })).toMatchObject({ state: 'pending' })
    const second = await talk({ ...smallWindow([{ text: 'on' }]).options, store })
    await second.say('more')
    expect((await second.session.runs()).items.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'user completed',
      'compaction stopped',
      'user completed',
    ])
    await checkLog(second.session)
  })

  it('S12: hooks that watch it get its run id', async () => {
    const seen: string[] = []
    const watch = defineExtension({ name: 'watch', hooks: { afterCompaction: (_event, context) => void seen.push(context.runId) } })
    const { options } = smallWindow([{ text: long, usage: used(9_100) }, { text: 'SUMMARY' }])
    const { session, say, faults, store } = await talk({ ...options, agent: { ...options.agent, extensions: [watch] } })
    await say(long)
    for await (const event of session.events()) if (event.type === 'settled') break
    await quiet(store, 'room:1')
    const compaction = (await session.runs()).items.find(({ kind }) => kind === 'compaction')
    expect(seen).toEqual([compaction?.runId])
    expect(faults).toEqual([])
  })
})
