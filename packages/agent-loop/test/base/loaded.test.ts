import { expect, it } from 'vitest'
import { isLoaded, makeLoaded, openLoaded, reloadLists } from '../../src/base/loaded.ts'
import type { Loaded } from '../../src/base/loaded.ts'

function numbers(...items: readonly number[]): Loaded<number> {
  const diagnostics = items.map((item) => ({ kind: 'file' as const, name: String(item), message: 'odd' }))
  return makeLoaded({ items, diagnostics, reload: () => Promise.resolve(numbers(...items.map((item) => item + 10))) })
}

const facts = (list: readonly (number | Loaded<number>)[]) => {
  const { diagnostics, ...rest } = openLoaded<number>(list)
  return { ...rest, wrong: diagnostics.map(({ name }) => name) }
}

it('a list from a folder may be given alone, among single items, or not at all', () => {
  expect(facts(numbers(1, 2))).toEqual({ items: [1, 2], own: [], fromFolders: [1, 2], wrong: ['1', '2'] })
  expect(facts([0, numbers(1), 5, numbers(2)])).toEqual({ items: [0, 1, 5, 2], own: [0, 5], fromFolders: [1, 2], wrong: ['1', '2'] })
  expect(facts([0, 5])).toEqual({ items: [0, 5], own: [0, 5], fromFolders: [], wrong: [] })
})

it('a list from a folder is read again wherever it is given, and other items stay', async () => {
  expect(facts(await reloadLists<number>(numbers(1))).items).toEqual([11])
  const again = await reloadLists<number>([0, numbers(1)])
  expect(facts(again).items).toEqual([0, 11])
  expect(facts(await reloadLists<number>(again)).items).toEqual([0, 21])
})

it('a list from a folder is a frozen array that is recognized by its shape', () => {
  const list = numbers(1)
  expect([Array.isArray(list), Object.isFrozen(list), isLoaded(list), isLoaded([1]), isLoaded(undefined)]).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
})
