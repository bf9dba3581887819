import { PNG } from 'pngjs'
import { expect, it } from 'vitest'
import { describeRecorded, stageAt } from './browser.ts'
import type { Visit } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { eventually } from './eventually.ts'
import type { RecordedId } from './recorded/record.ts'
import { areaTolerance, differenceOf, expectSameLook, reduced } from './recorded/same-look.ts'
import { openings, showPanel } from './recorded/states.ts'

const dark = { colorScheme: 'dark' } as const
const phone = { viewport: { width: 390, height: 844 } } as const
/** Scrolls like a user: after scrolling by a script, the page would return to the end when it grows. */
async function toTheTop({ page }: DemoPage): Promise<void> {
  const box = page.locator('.conversation-scroll')
  await box.hover()
  await page.mouse.wheel(0, -5000)
  await eventually(async () => expect(await box.evaluate(({ scrollTop }) => scrollTop)).toBe(0))
  await page.mouse.move(0, 0)
}

interface Look {
  /** File name without `.png`. */
  readonly name: string
  readonly id: RecordedId | ''
  readonly options?: Visit
  readonly prepare?: (tab: DemoPage) => Promise<unknown>
}

const openingOf =
  (wanted: string) =>
  (tab: DemoPage): Promise<void> =>
    openings.find(({ name }) => name === wanted)?.open(tab) ?? Promise.reject(new Error(`There is no opening ${wanted}.`))

const looks: readonly Look[] = [
  { name: 'first-page', id: '' },
  { name: 'first-page-phone', id: '', options: { ...phone, ...dark } },
  { name: 'crash', id: 'crash', prepare: toTheTop },
  { name: 'needs-recovery-dark', id: 'recovery', options: dark, prepare: toTheTop },
  { name: 'approval', id: 'approval' },
  {
    name: 'story-dark',
    id: 'story',
    options: dark,
    prepare: async (tab) => (await tab.main.locator('pre code span[style]').first().waitFor(), await tab.rests(), toTheTop(tab)),
  },
  { name: 'plan', id: 'plan' },
  { name: 'tool-at-work', id: 'tool' },
  { name: 'subagent-at-work-dark', id: 'child', options: dark },
  { name: 'failed-phone', id: 'failed', options: phone },
  { name: 'place-phone-dark', id: 'place', options: { ...phone, ...dark } },
  { name: 'timeline-phone', id: 'crash', options: phone, prepare: (tab) => showPanel(tab, 'Timeline') },
  { name: 'past', id: 'crash', prepare: openingOf('the past') },
  { name: 'branches-dark', id: 'branches', options: dark, prepare: openingOf('the Branches tab') },
]

describeRecorded('how the page looks', (recording) => {
  const visit = (options: Visit | undefined, test: (tab: DemoPage) => Promise<void>): Promise<void> => {
    const { url, now } = recording()
    return stageAt(url).visit(test, { now, ...options })
  }

  it.concurrent.each(looks)('D42: $name', ({ name, id, options, prepare }) =>
    visit(options, async (tab) => {
      await tab.useTestFonts()
      await tab.show(id)
      await prepare?.(tab)
      // The word “resumed” is shown for four seconds.
      if (id !== '') await tab.page.locator('[data-testid=connection][data-word=connected]').waitFor()
      await tab.rests()
      await expectSameLook(name, await tab.page.screenshot({ caret: 'hide' }))
    }),
  )

  it.concurrent('D42: when the space for a conversation changes, its end stays in view, and so does an earlier place', () =>
    visit({}, async (tab) => {
      await tab.show('plan')
      const { page } = tab
      const box = page.locator('.conversation-scroll')
      const toEnd = (): Promise<number> =>
        box.evaluate(({ scrollHeight, clientHeight, scrollTop }) => scrollHeight - clientHeight - scrollTop)
      const resize = async (height: number): Promise<void> => {
        await page.setViewportSize({ width: 1440, height })
        await tab.rests()
      }
      expect(await toEnd()).toBeLessThan(2)
      for (const height of [800, 900, 700, 800]) {
        await resize(height)
        expect(await toEnd(), `at ${height} px`).toBeLessThan(2)
      }
      await toTheTop(tab)
      await resize(700)
      expect(await box.evaluate(({ scrollTop }) => scrollTop)).toBe(0)
    }))

  it.concurrent('D42: when the window gets narrower, the end of the timeline stays in view, and so does an earlier place', () =>
    visit(phone, async (tab) => {
      await tab.show('crash')
      await showPanel(tab, 'Timeline')
      const box = tab.page.getByRole('group', { name: 'Drawing of the timeline' })
      const toEnd = (): Promise<number> =>
        box.evaluate(({ scrollWidth, clientWidth, scrollLeft }) => scrollWidth - clientWidth - scrollLeft)
      const narrow = async (width: number): Promise<void> => {
        await tab.page.setViewportSize({ ...phone.viewport, width })
        await tab.rests()
      }
      await tab.rests()
      expect(await toEnd()).toBeLessThan(2)
      await narrow(360)
      expect(await toEnd()).toBeLessThan(2)
      await box.evaluate((element) => void (element.scrollLeft = 20))
      await tab.rests()
      await narrow(330)
      expect(await box.evaluate(({ scrollLeft }) => scrollLeft)).toBe(20)
    }))

  it.concurrent('D42: a moved panel is detected, and the edge of a letter is not', () =>
    visit({}, async (tab) => {
      await tab.useTestFonts()
      await tab.show('approval')
      const shot = async (): Promise<PNG> => PNG.sync.read(await tab.page.screenshot({ caret: 'hide' }))
      const kept = await shot()
      const share = (drawn: PNG): number => differenceOf(reduced(kept), reduced(drawn)).share
      await tab.page.addStyleTag({ content: '[data-testid=approval] { margin-left: 6px }' })
      await tab.frame()
      expect(share(await shot())).toBeGreaterThan(areaTolerance)
      expect(share(smeared(kept))).toBeLessThan(areaTolerance)
    }))
})

/** Simulates the anti-aliasing of another machine: each pixel gets a part of its neighbour. */
function smeared(picture: PNG): PNG {
  const other = new PNG({ width: picture.width, height: picture.height })
  for (const [place, value] of picture.data.entries())
    other.data[place] = Math.round(0.7 * value + 0.3 * (picture.data[place + 4] ?? value))
  return other
}
