import { expect, inject, it } from 'vitest'
import { describeRecorded, stageAt } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { outOfReach } from './recorded/in-reach.ts'
import { openRecording } from './recorded/recording.ts'
import { openings, showPanel, states } from './recorded/states.ts'

const phone = { width: 360, height: 640 }
const desktop = { width: 1440, height: 900 }
/** The last one is the desktop window at 200 %. */
const otherWindows = [
  { width: 768, height: 1024 },
  { width: 720, height: 450 },
]
/** Rendering it takes long, so only one state of each kind is checked. */
const widest = { width: 3840, height: 2160 }
const groups = Object.entries(states)
/** Parts that are equal in all states. They are checked only in the first state of a group. */
const alike = ['nav[aria-label=Sessions] ul']

describeRecorded('every state of the page', (recording) => {
  const visit = (test: (tab: DemoPage) => Promise<void>): Promise<void> => {
    const { url, now } = recording()
    return stageAt(url).visit(test, { now, viewport: phone })
  }

  it.concurrent.each(groups)(
    'D41, D28, D31: in the states %s axe finds nothing on a phone, in light and in dark; each has its word, and all is reachable in every window',
    (_, members) =>
      visit(async (tab) => {
        for (const { id, words } of members) {
          const isFirst = id === members[0]?.id
          await tab.page.setViewportSize(phone)
          await tab.show(id)
          expect(await tab.faults(), id).toEqual([])
          expect(await outOfReach(tab.page), `${id} at ${phone.width} px`).toEqual([])
          for (const window of isFirst ? [...otherWindows, widest] : otherWindows) {
            await tab.page.setViewportSize(window)
            expect(await outOfReach(tab.page), `${id} at ${window.width} px`).toEqual([])
          }
          await tab.page.setViewportSize(desktop)
          await tab.rests()
          expect(await tab.faultsInBothColours(isFirst ? [] : alike), id).toEqual([])
          expect(await outOfReach(tab.page), `${id} at ${desktop.width} px`).toEqual([])
          const text = await tab.page.locator('body').innerText()
          for (const word of words) expect(text, id).toContain(word)
        }
      }),
  )

  it.concurrent.each(openings)(
    'D41, D31: axe finds nothing in $name, on a phone, in light and in dark, and all of it is reachable',
    ({ id, panel, open }) =>
      visit(async (tab) => {
        await tab.show(id)
        if (panel) await showPanel(tab, panel)
        await open(tab)
        await tab.rests()
        expect(await tab.faults()).toEqual([])
        expect(await outOfReach(tab.page)).toEqual([])
        await tab.page.setViewportSize(desktop)
        await tab.rests()
        expect(await tab.faultsInBothColours()).toEqual([])
        expect(await outOfReach(tab.page)).toEqual([])
      }),
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
