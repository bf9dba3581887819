import { expect, inject, it } from 'vitest'
import { describeRecorded, stageAt } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { outOfReach } from './recorded/in-reach.ts'
import { openRecording } from './recorded/recording.ts'
import { openings, showPanel, states } from './recorded/states.ts'

const phone = { width: 360, height: 640 }
/** The last one is a window of 1440 by 900 at 200 %. */
const windows = [phone, { width: 768, height: 1024 }, { width: 1440, height: 900 }, { width: 720, height: 450 }]
/** Drawing it takes long: one state of each kind. */
const widest = { width: 3840, height: 2160 }
const groups = Object.entries(states)
/** Parts that are the same in all states. Only the first state of a group is checked with them. */
const alike = ['nav[aria-label=Sessions] ul']

describeRecorded('every state of the page', (recording) => {
  const visit = (test: (tab: DemoPage) => Promise<void>, viewport?: { readonly width: number; readonly height: number }): Promise<void> => {
    const { url, now } = recording()
    return stageAt(url).visit(test, { now, ...(viewport && { viewport }) })
  }

  it.concurrent.each(groups)('D41, D28: axe finds nothing in light and dark in those %s, and each has its word', (_, members) =>
    visit(async (tab) => {
      for (const { id, words } of members) {
        await tab.show(id)
        expect(await tab.faultsInBothColours(id === members[0]?.id ? [] : alike), id).toEqual([])
        const text = await tab.page.locator('body').innerText()
        for (const word of words) expect(text, id).toContain(word)
      }
    }),
  )

  it.concurrent.each(groups)('D41, D31: axe finds nothing on a phone in those %s, and all is in reach in every window', (_, members) =>
    visit(async (tab) => {
      for (const { id } of members) {
        await tab.page.setViewportSize(phone)
        await tab.show(id)
        expect(await tab.faults(), id).toEqual([])
        for (const window of id === members[0]?.id ? [...windows, widest] : windows) {
          await tab.page.setViewportSize(window)
          expect(await outOfReach(tab.page), `${id} at ${window.width} px`).toEqual([])
        }
      }
    }, phone),
  )

  it.concurrent.each(openings)('D41, D31: axe finds nothing in $name, in light, dark and on a phone, and all of it is in reach', ({ id, panel, open }) =>
    visit(async (tab) => {
      await tab.show(id)
      if (panel) await showPanel(tab, panel)
      await open(tab)
      await tab.rests()
      expect(await tab.faults()).toEqual([])
      expect(await outOfReach(tab.page)).toEqual([])
      await tab.page.setViewportSize({ width: 1440, height: 900 })
      await tab.rests()
      expect(await tab.faultsInBothColours()).toEqual([])
      expect(await outOfReach(tab.page)).toEqual([])
    }, phone),
  )
})

it('records the same each time', async () => {
  const logs: string[] = []
  for (let round = 0; round < 2; round++) {
    const recording = await openRecording(inject('pageFolder'))
    logs.push(await recording.logs())
    await recording.close()
  }
  expect(logs[1]).toBe(logs[0])
})
