import { expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { eventually } from './eventually.ts'

/** More than the number of focusable elements on the page. */
const mostTabs = 150

describeInBrowser('a reader without a mouse', ({ visit }) => {
  it(
    'D29, D41: walks through every row by keyboard, sees the focus at each stop, and finds it again after each answer',
    { timeout: 120_000 },
    () =>
      visit(async (tab) => {
        const { keyboard } = tab.page
        await go(tab, 'Message')
        for (const phrase of [
          'tell me a story',
          'what is the weather in Oslo and Lima',
          'index the docs',
          'ask the worker',
          'make a plan',
          'pay the invoice',
          'fail',
          'be slow',
        ]) {
          await type(tab, phrase)
          await tab.reaches('completed')
          expect(await focused(tab)).toBe('Message')
        }
        await go(tab, 'Tool Index the docs', 'Shift+Tab')
        await keyboard.press('Enter')
        await tab.page.getByLabel('Output').getByText('"files": 18').waitFor()

        await go(tab, 'Message')
        await type(tab, 'where am I')
        await tab.reaches('waiting-for-user')
        await go(tab, 'Place to share', 'Shift+Tab')
        await keyboard.press('ArrowDown')
        await go(tab, 'Share this place')
        await keyboard.press('Enter')
        await tab.tool('get_location', 'result').waitFor()
        await tab.reaches('completed')

        await go(tab, 'Message')
        await type(tab, 'delete the report')
        await tab.reaches('waiting-for-user')
        await go(tab, 'Edit the arguments', 'Shift+Tab')
        await keyboard.press('Enter')
        await go(tab, 'Arguments', 'Shift+Tab')
        await keyboard.press('Control+a')
        await keyboard.type('{ "report": "q1-final", "forever": false }')
        await go(tab, 'Approve with these')
        await keyboard.press('a')
        // The answer appears below the visible part.
        await tab.tool('delete_report', 'result').waitFor()
        await tab.reaches('completed')

        await go(tab, 'Message')
        await type(tab, 'long talk')
        await tab.page.getByTestId('compaction').waitFor()
        await go(tab, 'The conversation was compacted', 'Shift+Tab')
        await keyboard.press('Enter')
        await tab.page.getByText('The model is shown this summary').waitFor()

        await go(tab, 'Message')
        await type(tab, 'research knots')
        await tab.main.getByText('The researcher is back.').waitFor()
        const parent = tab.sessionId
        await go(tab, 'Open its conversation', 'Shift+Tab')
        await keyboard.press('Enter')
        await tab.tool('search_library', 'result').waitFor()
        expect(tab.sessionId).not.toBe(parent)
        await tab.page.goBack()
        await tab.main.getByText('The researcher is back.').waitFor()

        await go(tab, 'State')
        for (const panel of ['Event', 'Request', 'Branches']) {
          await keyboard.press('ArrowRight')
          await eventually(async () => expect(await focused(tab)).toBe(panel))
        }
        await go(tab, 'Drawing of the timeline')
        await tab.equalsServer()
      }),
  )
})

/** Presses the key until the element of this name has the focus, and expects a visible focus at each stop. */
async function go(tab: DemoPage, name: string, key = 'Tab'): Promise<void> {
  const passed: string[] = []
  for (let pressed = 0; pressed < mostTabs; pressed++) {
    await tab.page.keyboard.press(key)
    const { name: reached, visible } = await focus(tab)
    expect(visible, `the focus on “${reached}” can be seen`).toBe(true)
    if (reached.startsWith(name)) return
    passed.push(reached)
  }
  throw new Error(`“${name}” is not reached by ${key}: ${passed.join(', ')}`)
}

async function type(tab: DemoPage, text: string): Promise<void> {
  await tab.page.keyboard.type(text)
  await tab.page.keyboard.press('Enter')
  // Until the input is read, the page shows the state of the previous run.
  await tab.main.getByTestId('user').filter({ hasText: text }).last().waitFor()
}

async function focused(tab: DemoPage): Promise<string> {
  return (await focus(tab)).name
}

/** Returns the name of the focused element, and whether a ring or a frame shows the focus. */
function focus({ page }: DemoPage): Promise<{ readonly name: string; readonly visible: boolean }> {
  return page.evaluate(() => {
    const element = document.activeElement
    if (!element || element === document.body) return { name: '', visible: true }
    const label =
      element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement
        ? element.labels?.[0]?.textContent
        : undefined
    const name =
      element.getAttribute('aria-label') ??
      label ??
      (element.matches('summary') ? element.closest('article')?.getAttribute('aria-label') : undefined) ??
      element.textContent ??
      ''
    const ringed = [element, element.parentElement].some((each) => {
      if (!each) return false
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(each)
      return (
        (outlineStyle !== 'none' && outlineWidth !== '0px') || (each !== element && each.matches(':focus-within') && boxShadow !== 'none')
      )
    })
    return { name: name.trim(), visible: ringed }
  })
}
