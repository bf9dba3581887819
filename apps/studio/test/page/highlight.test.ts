import type * as shiki from 'shiki/core'
import { expect, it, vi } from 'vitest'
import { highlight } from '../../src/page/parts/highlight.ts'

const loads = vi.hoisted(() => ({ count: 0 }))

vi.mock('shiki/core', async (importActual) => {
  const actual = await importActual<typeof shiki>()
  return {
    ...actual,
    async createHighlighterCore(...given: Parameters<typeof actual.createHighlighterCore>) {
      if (++loads.count === 1) throw new TypeError('Failed to fetch dynamically imported module')
      return actual.createHighlighterCore(...given)
    },
  }
})

it('code gets its colours after the highlighter could not be loaded once', async () => {
  await expect(highlight('1', 'json')).rejects.toThrow('Failed to fetch')
  expect(await highlight('1', 'json')).toHaveLength(1)
  await highlight('2', 'json')
  expect(loads.count).toBe(2)
})
