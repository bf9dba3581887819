import { getEventListeners } from 'node:events'
import { manualClock } from '@bowline/llm/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import '../../../src/node/index.ts'
import { randomRuns } from '../../../../../scripts/test-length.ts'
import { makeLoaded } from '../../../src/base/loaded.ts'
import type { Loaded } from '../../../src/base/loaded.ts'
import { assemblePrompt } from '../../../src/plugins/prompt/assemble.ts'
import { PromptCache } from '../../../src/plugins/prompt/cache.ts'
import { mergeSections } from '../../../src/plugins/prompt/sections.ts'
import type { SectionContext } from '../../../src/contract/prompt.ts'
import type { PromptSections, Skill } from '../../../src/contract/prompt.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const dayMs = 86_400_000
const context: SectionContext = { tools: ['read'], now: Date.UTC(2026, 1, 3, 12) }

/** Creates a source whose text has the number of its calls. */
function counting(look: (context: SectionContext) => unknown = () => undefined) {
  let count = 0
  return (given: SectionContext) => {
    const seen = look(given)
    return `built ${++count}${seen === undefined ? '' : ` for ${JSON.stringify(seen)}`}`
  }
}

function cacheOf(sections: PromptSections) {
  const cache = new PromptCache(mergeSections(sections))
  return { cache, text: async (given: Partial<SectionContext> = {}) => (await cache.get({ ...context, ...given })).text }
}

describe('the prompt cache', () => {
  it('A158: returns the same bytes again, also later, in another session and with other tools', async () => {
    const { text } = cacheOf({ system: counting() })
    expect(await text()).toBe('built 1')
    expect(await text({ now: context.now + dayMs, sessionKey: 's1', tools: [] })).toBe('built 1')
  })

  it('A158: each channel has its own cache entry', async () => {
    const { text } = cacheOf({ system: counting() })
    expect([await text({ channel: 'a' }), await text({ channel: 'b' }), await text(), await text({ channel: 'a' })]).toEqual([
      'built 1',
      'built 2',
      'built 3',
      'built 1',
    ])
  })

  it('A158: a footer with a date makes one entry per day, a line with the session key one per key', async () => {
    const dated = cacheOf({ system: counting(), footer: { date: true } })
    expect(await dated.text()).toBe('built 1\n\nDate: 2026-02-03')
    expect(await dated.text({ now: context.now + 1 })).toBe('built 1\n\nDate: 2026-02-03')
    expect(await dated.text({ now: context.now + dayMs })).toBe('built 2\n\nDate: 2026-02-04')
    const keyed = cacheOf({ system: counting(), footer: { sessionKey: true } })
    expect(await keyed.text({ sessionKey: 'a' })).toBe('built 1\n\nSession: a')
    expect(await keyed.text({ sessionKey: 'b' })).toBe('built 2\n\nSession: b')
    expect(await keyed.text({ sessionKey: 'a' })).toBe('built 1\n\nSession: a')
  })

  it('A112: a build that no caller waits for any more leaves no timer, and the next caller starts a new one', async () => {
    const clock = manualClock()
    let count = 0
    const { cache } = cacheOf({ system: () => (++count === 1 ? new Promise(() => {}) : 'built') })
    const waiters = [new AbortController(), new AbortController()]
    const waits = waiters.map(({ signal }) => cache.get(context, { clock, abortSignal: signal }))
    waiters[0]?.abort()
    await expect(waits[0]).rejects.toThrow('aborted')
    expect(clock.pendingTimers).toBe(1)
    waiters[1]?.abort()
    await expect(waits[1]).rejects.toThrow('aborted')
    expect(clock.pendingTimers).toBe(0)
    expect(waiters.flatMap(({ signal }) => getEventListeners(signal, 'abort'))).toEqual([])
    expect((await cache.get(context, { clock })).text).toBe('built')
  })

  it('A158: invalidate clears one channel or all', async () => {
    const { cache, text } = cacheOf({ system: counting() })
    await text({ channel: 'a' })
    await text({ channel: 'b' })
    cache.invalidate('a')
    expect([await text({ channel: 'a' }), await text({ channel: 'b' })]).toEqual(['built 3', 'built 2'])
    cache.invalidate()
    expect([await text({ channel: 'a' }), await text({ channel: 'b' })]).toEqual(['built 4', 'built 5'])
  })

  it('A158: files are read again after reload, and not before', async () => {
    const folder = await temporaryFolder()
    const file = await folder.write('soul.md', 'first')
    const { cache, text } = cacheOf({ soul: { file } })
    expect(await text()).toBe('first')
    await folder.write('soul.md', 'second')
    expect(await text()).toBe('first')
    await cache.reload()
    expect(await text()).toBe('second')
  })

  it('A158: reload reads skills from folders again and returns their new diagnostics', async () => {
    const skill = (name: string): Skill => ({ name, description: 'x', location: `/${name}` })
    const loadedOf = (version: number): Loaded<Skill> =>
      makeLoaded({
        items: [skill(`loaded-${version}`)],
        diagnostics: [{ kind: 'skill', name: 'x', message: `from ${version}` }],
        reload: () => Promise.resolve(loadedOf(version + 1)),
      })
    for (const skills of [loadedOf(1), [skill('own'), loadedOf(1)]]) {
      const { cache, text } = cacheOf({ system: '', skills })
      expect(await text()).toContain('loaded-1')
      await cache.reload()
      expect(await text()).toContain('loaded-2')
      expect(cache.diagnostics.map(({ message }) => message)).toEqual(['from 2'])
    }
  })

  it('the text of a function that reads the session or the tools is never used for another session or other tools', async () => {
    const { text } = cacheOf({ system: counting(({ sessionKey }) => sessionKey ?? 'none') })
    const keys = ['a', 'b', 'a', 'b', undefined]
    const asked = await Promise.all(keys.map((sessionKey) => text(sessionKey === undefined ? {} : { sessionKey })))
    expect(asked.map((given) => given.split(' for ')[1])).toEqual(['"a"', '"b"', '"a"', '"b"', '"none"'])
    expect([asked[2], asked[3]]).toEqual([asked[0], asked[1]])
    expect(await text({ sessionKey: 'a', tools: ['x'] })).toBe(asked[0])

    const byTools = cacheOf({ system: counting(({ tools }) => tools) })
    expect(await byTools.text({ tools: ['x'] })).toBe('built 1 for ["x"]')
    expect(await byTools.text({ tools: ['x', 'y'] })).toBe('built 2 for ["x","y"]')
    expect(await byTools.text({ tools: ['x'] })).toBe('built 1 for ["x"]')
  })

  it('a function that reads them only sometimes is detected when it does', async () => {
    const { text } = cacheOf({ system: counting((given) => (given.channel === 'slack' ? { ...given }.sessionKey : undefined)) })
    expect(await text({ sessionKey: 'a' })).toBe('built 1')
    expect(await text({ sessionKey: 'b' })).toBe('built 1')
    expect(await text({ channel: 'slack', sessionKey: 'a' })).toBe('built 2 for "a"')
    expect(await text({ channel: 'slack', sessionKey: 'b' })).toBe('built 3 for "b"')
  })

  it('A166: every agent that shares the cache gets the same bytes, whatever functions and files would return now', async () => {
    const folder = await temporaryFolder()
    const file = await folder.write('user.md', 'first')
    const { text } = cacheOf({ memory: counting(({ tools }) => tools), user: { file }, footer: { date: true, sessionKey: true } })
    const parent = { channel: 'web', sessionKey: 's1', tools: ['read', 'write'] }
    const first = await text(parent)
    await folder.write('user.md', 'second')
    expect(await text({ ...parent, tools: [...parent.tools], now: context.now + 1 })).toBe(first)
  })

  it('callers at the same time share one build', async () => {
    const { text } = cacheOf({ system: counting() })
    expect(await Promise.all([text(), text(), text()])).toEqual(['built 1', 'built 1', 'built 1'])
  })

  it('A159: a build with errors is shared, reported to each caller, and not kept', async () => {
    let works = false
    const { cache, text } = cacheOf({ system: 'one', memory: () => (works ? 'two' : Promise.reject(new Error('not yet'))) })
    const [first, second] = await Promise.all([cache.get(context), cache.get(context)])
    expect(first).toBe(second)
    expect(first).toMatchObject({ text: 'one', errors: [{ section: 'memory', message: 'not yet' }] })
    works = true
    expect(await text()).toBe('one\n\ntwo')
  })

  it('a build that was in progress at an invalidation is not kept', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    let asked = 0
    const { cache, text } = cacheOf({ system: () => (++asked === 1 ? promise : 'new') })
    const old = text()
    cache.invalidate()
    const fresh = text()
    resolve('old')
    expect([await old, await fresh, await text(), asked]).toEqual(['old', 'new', 'new', 2])
  })

  it('holds 100 entries and removes the one that was not used for the longest time', async () => {
    const { text } = cacheOf({ system: counting(), footer: { sessionKey: true } })
    for (let round = 0; round < 3; round++) {
      const built = (session: string) => text({ sessionKey: `${session} in round ${round}` })
      for (let session = 0; session < 100; session++) await built(`s${session}`)
      const first = 102 * round + 1
      expect(await built('s0')).toContain(`built ${first}\n`)
      await built('one more')
      expect(await built('s0')).toContain(`built ${first}\n`)
      expect(await built('s1')).toContain(`built ${first + 101}\n`)
    }
  })

  it('A158: for any sections and contexts the cache returns what an assembly with that context returns', async () => {
    const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
    const sections = fc.record({
      system: optional(fc.constant('system')),
      append: optional(fc.constant((given: SectionContext) => `for ${given.channel} ${given.sessionKey}`)),
      memory: optional(fc.constant((given: SectionContext) => given.tools.join())),
      skills: fc.constantFrom([], [{ name: 'n', description: 'd', location: 'l' }]),
      platform: fc.constant({ a: 'platform a' }),
      footer: optional(fc.record({ date: fc.boolean(), sessionKey: fc.boolean() })),
    })
    const contexts = fc.record({
      channel: fc.constantFrom('a', 'b'),
      sessionKey: fc.constantFrom('s', 't'),
      tools: fc.constantFrom([], ['read'], ['other'], ['other', 'read']),
      now: fc.constantFrom(0, dayMs, 2 * dayMs),
    })
    await fc.assert(
      fc.asyncProperty(sections, fc.array(contexts, { maxLength: 12 }), async (given, asked) => {
        const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as PromptSections
        const { cache } = cacheOf(present)
        const prompts = await Promise.all(asked.map((one) => cache.get(one)))
        const again = await Promise.all(asked.map((one) => cache.get(one)))
        const expected = await Promise.all(asked.map((one) => assemblePrompt(mergeSections(present), one)))
        expect(prompts).toEqual(expected)
        again.forEach((prompt, index) => expect(prompt.text).toBe(prompts[index]?.text))
      }),
      randomRuns(200),
    )
  })
})
