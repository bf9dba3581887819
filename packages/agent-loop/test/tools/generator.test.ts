import { describe, expect, it } from 'vitest'
import { drainGenerator, isGenerator, outputOf } from '../../src/tools/output.ts'

function chunks(values: readonly unknown[]) {
  const state = { taken: 0, closed: false }
  async function* generate(): AsyncGenerator<unknown> {
    try {
      for (const value of values) {
        state.taken++
        yield value
      }
    } finally {
      state.closed = true
    }
  }
  return { state, generator: generate() }
}

const emitAll = (): boolean => true

describe('tools that are generators', () => {
  it.each([[7], [null], [undefined], [{ type: 'delta' }], [{ type: 'done' }], [['a']]])(
    'A53: %j is not a chunk: it ends the call with an error, and the generator is closed',
    async (value) => {
      const { state, generator } = chunks(['a', value, 'b'])
      await expect(drainGenerator(generator, emitAll)).rejects.toThrow('must yield')
      expect(state).toEqual({ taken: 2, closed: true })
    },
  )

  it('A60: the generator is closed at the first chunk after the outcome', async () => {
    const { state, generator } = chunks(['a', 'b', 'c'])
    expect(await drainGenerator(generator, () => false)).toBe('a')
    expect(state).toEqual({ taken: 1, closed: true })
  })

  it('A53: any async iterable works, also one that cannot be closed', async () => {
    let left = 2
    const iterable = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: left-- === 0, value: left < 0 ? undefined : 'x' }) }),
    }
    expect(isGenerator(iterable)).toBe(true)
    expect(await drainGenerator(iterable as AsyncIterable<unknown>, emitAll)).toBe('xx')
    expect([isGenerator('text'), isGenerator(null), isGenerator([])]).toEqual([false, false, false])
  })
})

describe('outputs of tools', () => {
  it.each<[string, unknown, boolean, object]>([
    ['text', 'a', false, { type: 'text', value: 'a' }],
    ['text of an error', 'a', true, { type: 'error-text', value: 'a' }],
    ['JSON', null, false, { type: 'json', value: null }],
    ['JSON of an error', [1], true, { type: 'error-json', value: [1] }],
    [
      'content',
      { type: 'content', value: [{ type: 'text', text: 'a' }] },
      false,
      { type: 'content', value: [{ type: 'text', text: 'a' }] },
    ],
    [
      'content with more beside it',
      { type: 'content', value: [], more: 1 },
      false,
      { type: 'json', value: { type: 'content', value: [], more: 1 } },
    ],
    [
      'content of unknown items',
      { type: 'content', value: [{ type: 'x' }] },
      false,
      { type: 'json', value: { type: 'content', value: [{ type: 'x' }] } },
    ],
  ])('%s has its shape', (_what, given, isError, output) => {
    expect(outputOf(given, isError)).toEqual(output)
  })
})
