import { describe, expect, it } from 'vitest'
import { event, key, writtenLog } from './written-log.ts'

const queued = (runId: string) => ({ type: 'run-queued', at: 1, runId })
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`)
const at = (seq: number) => ({ from: () => ({ seq, n: 0 }) })

describe('S106: a session that is deleted while it has readers', () => {
  const deletions = {
    'leaves its numbers': ['leaves', 'alone'],
    'leaves its numbers to another session': ['leaves', 'again'],
    'leaves nothing': ['nothing', 'alone'],
    'leaves nothing, and another session has as many events': ['nothing', 'again'],
  } as const

  it.each(Object.entries(deletions))('S106: %s', async (_what, [left, then]) => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const readers = [log.follow(), log.follow({ runId: 'r1' }), log.follow({ runId: 'r2' })]
    await log.settle()
    await log.commit({ op: 'session.delete', at: 1500, ...(left === 'nothing' && { leavesNothing: true }) })
    if (then === 'again') {
      await log.create()
      await log.write(event('session-start'))
    }
    await log.clock.advance(1000)
    for (const reader of readers) {
      expect(reader.over).toBe('done')
      expect(reader.last).toEqual({
        type: 'session-end',
        at: left === 'leaves' && then === 'alone' ? 1500 : 2000,
        sessionKey: key,
        reason: 'deleted',
        seq: 2,
        commit: {},
        cursor: '2',
      })
    }
    expect(readers.map(({ cursors }) => cursors.length)).toEqual([2, 2, 1])
  })

  it('S106: if it is deleted before the first read, a reader gets only session-end', async () => {
    const log = await writtenLog()
    await log.write(event('turn-start'))
    await log.commit({ op: 'session.delete', at: 1500 })
    const reader = log.follow(at(1))
    await log.settle()
    expect([reader.over, reader.types, reader.cursors]).toEqual(['done', ['session-end'], ['2']])
  })

  it('S106: a reader may be reading events between two events of this process', async () => {
    const log = await writtenLog()
    await log.publish(event('turn-start'))
    const reader = log.follow()
    await log.settle()
    await log.write(...Array.from({ length: 20 }, () => queued('r2')))
    log.duringReads(() => log.commit({ op: 'session.delete', at: 1500 }))
    await log.publish(event('step-start'))
    await log.settle()
    expect([reader.over, reader.last]).toMatchObject(['done', { type: 'session-end', seq: 18 }])
    expect(reader.cursors).toEqual(numbers(1, 18))
  })

  it.each(['live', 'read later'])('S111: the end of its lifetime ends every reader, %s', async (when) => {
    const log = await writtenLog()
    const early = log.follow()
    await log.settle()
    await log.publishOther({ type: 'session-end', at: 1, sessionKey: key, reason: 'expired' })
    const reader = when === 'live' ? early : log.follow()
    await log.settle()
    expect([reader.over, reader.types]).toEqual(['done', ['session-end']])
  })

  it('S111: the end of its lifetime also ends a reader between two events of this process', async () => {
    const log = await writtenLog()
    const reader = log.follow()
    await log.settle()
    await log.write({ type: 'session-end', at: 1, sessionKey: key, reason: 'expired' }, queued('r2'))
    await log.publishOther(queued('r3'))
    await log.settle()
    expect([reader.over, reader.cursors]).toEqual(['done', ['1']])
  })
})

describe('S123: the events of a run', () => {
  /** Creates a run that rests as the test says. */
  async function ofRun() {
    const log = await writtenLog()
    const run = { rests: false, asked: 0 }
    const isResting = (runId: string) => {
      run.asked++
      expect(runId).toBe('r1')
      return Promise.resolve(run.rests)
    }
    return { ...log, run, followRun: (options = {}) => log.follow({ runId: 'r1', isResting, ...options }) }
  }

  it('S123: contain only the run, without the events of the session', async () => {
    const log = await ofRun()
    await log.publish(event('turn-start', { runId: 'r2' }), event('turn-start'), queued('r3'))
    const [reader, whole] = [log.followRun(), log.follow()]
    await log.settle()
    log.say('other', { runId: 'r2' })
    log.say('own')
    await log.publish(event('message-start', { runId: 'r2' }), event('message-start'), { type: 'branch-switched', at: 1 })
    await log.settle()
    expect(reader.cursors).toEqual(['2', '3.2', '5'])
    expect(whole.cursors).toEqual(['1', '2', '3', '3.1', '3.2', '4', '5', '6'])
    await log.publish(event('settled'))
    await log.settle()
    expect(reader.cursors).toHaveLength(3)
  })

  it.each(['turn-end', 'save-point', 'settled'])('S123: end with %s when the run rests, and go on when it does not', async (type) => {
    const log = await ofRun()
    await log.publish(event('turn-start'))
    const reader = log.followRun()
    await log.settle()
    await log.publish(event(type))
    await log.settle()
    expect(reader.over).toBeUndefined()
    await log.publish(event('turn-start'))
    await log.settle()
    log.run.rests = true
    await log.publish(event(type))
    await log.settle()
    expect(reader.over).toBe('done')
    expect(reader.types).toEqual(['turn-start', type, 'turn-start', type].filter((each) => each !== 'settled'))
  })

  it('S123: do not end with the end of another run', async () => {
    const log = await ofRun()
    await log.publish(event('turn-start'))
    const reader = log.followRun()
    await log.settle()
    log.run.rests = true
    const { asked } = log.run
    await log.publish(event('save-point', { runId: 'r2' }))
    await log.settle()
    expect([reader.over, log.run.asked]).toEqual([undefined, asked])
  })

  it.each(['told', 'found'])('S123: end when the run comes to rest without an event, if that is %s', async (how) => {
    const log = await ofRun()
    await log.publish(event('turn-start'))
    const reader = log.followRun()
    await log.settle()
    log.run.rests = true
    if (how === 'told') log.live.announce(key)
    await log.clock.advance(how === 'told' ? 0 : 999)
    expect(reader.over).toBe(how === 'told' ? 'done' : undefined)
    await log.clock.advance(1)
    expect([reader.over, reader.cursors]).toEqual(['done', ['1']])
  })

  it('S123: end when the run comes to rest while a reader reads the stored events', async () => {
    const log = await ofRun()
    await log.write(event('turn-start'), event('save-point'))
    log.duringReads(() => (log.run.rests = true))
    const reader = log.followRun()
    await log.settle()
    expect([reader.over, reader.cursors]).toEqual(['done', ['1', '2']])
  })

  it('S123: go on if the run resumed while a reader read the stored events', async () => {
    const log = await ofRun()
    await log.write(event('turn-start'), event('save-point'), event('turn-start'))
    log.run.rests = true
    log.duringReads(() => (log.run.rests = false))
    const reader = log.followRun(at(2))
    await log.settle()
    await log.publish(event('step-start'))
    await log.settle()
    expect([reader.over, reader.cursors]).toEqual([undefined, ['3', '4']])
  })

  it('S123: end at once if the run rests and has no further event', async () => {
    const log = await ofRun()
    await log.write(event('turn-start'), event('save-point'), queued('r2'))
    log.run.rests = true
    const reader = log.followRun(at(2))
    await log.settle()
    expect([reader.over, reader.cursors, log.run.asked]).toEqual(['done', [], 1])
  })

  it('S123: with live so-far, they wait for nothing and leave nothing in memory', async () => {
    const log = await ofRun()
    await log.publish(event('turn-start'))
    log.say('a')
    const reader = log.followRun({ live: 'so-far' })
    await log.settle()
    expect([reader.over, reader.cursors, log.clock.pendingTimers]).toEqual(['done', ['1', '1.1'], 0])
    log.endRun()
    expect(log.live.session(key).idle).toBe(true)
  })
})
