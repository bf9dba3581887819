import { expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { eventually } from './eventually.ts'

describeInBrowser('marks and branches', ({ visit }) => {
  it.concurrent('D13, D23: parallel tools have separate cards and marks; pointing at a mark highlights its card or answer', () =>
    visit(async (tab) => {
      const { page } = tab
      await tab.say('what is the weather in Oslo and Lima')
      await tab.reaches('completed')
      await tab.rests()
      const marks = page.getByRole('region', { name: 'Timeline' }).getByRole('button', { name: /^Tool .*done after/ })
      const boxes = await Promise.all([0, 1].map(async (place) => marks.nth(place).boundingBox()))
      const [one, other] = boxes.map((box) => box ?? { x: 0, y: 0, width: 0, height: 0 })
      if (!one || !other) throw new Error('There are not two marks.')
      // They overlap in time, so they are one below the other in the lane.
      expect(Math.min(one.x + one.width, other.x + other.width)).toBeGreaterThan(Math.max(one.x, other.x))
      expect(Math.abs(one.y - other.y)).toBeGreaterThanOrEqual(one.height)
      const cards = tab.tool('get_weather', 'result')
      const calls = await cards.evaluateAll((all) => all.map((card) => (card as HTMLElement).dataset.call))
      const lit = page.locator('[data-lit=true]')
      for (const place of [0, 1]) {
        await marks.nth(place).hover()
        expect(await lit.evaluateAll((all) => all.map((card) => (card as HTMLElement).dataset.call))).toEqual([calls[place]])
      }
      await page.getByRole('button', { name: /^Model call .*answered/ }).hover()
      expect(await lit.textContent()).toContain('is warmer than Oslo')
      await tab.message.hover()
      expect(await lit.count()).toBe(0)
    }))

  it.concurrent('D19: the tree shows the branches with the active one, and switches between them, over a reload', () =>
    visit(async (tab) => {
      const { page } = tab
      await tab.say('hello there')
      await tab.reaches('completed')
      const first = await tab.conversation()
      const leaf = await page.evaluate(
        async (id) => ((await (await fetch(`/api/agent/session/${id}`)).json()) as { messages: { id: string }[] }).messages.at(-1)?.id,
        tab.sessionId,
      )
      await tab.say('pay the invoice')
      await tab.main.getByText('R-2041', { exact: true }).waitFor()
      await tab.reaches('completed')
      const paid = await tab.conversation()
      // Creates another branch after the first answer.
      await page.evaluate(
        ([id, entryId]) =>
          fetch(`/api/agent/session/${id}/switch`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ entryId }),
          }),
        [tab.sessionId, leaf] as const,
      )
      await eventually(async () => expect(await tab.conversation()).toEqual(first))
      await tab.say('tell me a story')
      await tab.main.getByText('The knot that remembered').waitFor()
      await tab.reaches('completed')
      const told = await tab.conversation()
      await branches(tab, 2)
      await page.getByRole('button', { name: 'Switch to it' }).press('Enter')
      await eventually(async () => expect(await tab.conversation()).toEqual(paid))
      await tab.equalsServer()
      await branches(tab, 2)
      await page.getByRole('button', { name: 'Switch to it' }).press('Enter')
      await eventually(async () => expect(await tab.conversation()).toEqual(told))
      await tab.equalsServer()
    }))
})

/** Opens the tree and expects this number of branches, one of them active. */
async function branches({ page }: DemoPage, count: number): Promise<void> {
  await page.getByRole('tab', { name: 'Branches' }).click()
  const all = page.getByTestId('branch')
  await eventually(async () =>
    expect(await all.evaluateAll((list) => list.map((branch) => (branch as HTMLElement).dataset.active).toSorted())).toEqual([
      ...Array.from({ length: count - 1 }, () => 'false'),
      'true',
    ]),
  )
  expect(await page.locator('.tree-node-active').count()).toBe(1)
}
