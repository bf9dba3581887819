import { afterAll, expect, it } from 'vitest'
import { describeInBrowser, describeWithServer } from './browser.ts'
import { eventually } from './eventually.ts'
import { startHeldModel } from './held-model.ts'
import type { HeldModel } from './held-model.ts'
import { readRunStatus, readSession } from './session-state.ts'

let model: HeldModel

async function heldModel() {
  model = await startHeldModel()
  return { DEMO_BASE_URL: model.url, DEMO_MODEL: 'held' }
}

describeWithServer('a model that takes its time', heldModel, (stage) => {
  afterAll(() => model.close())

  it.concurrent('D27: a tab that is closed in the middle of an answer and opened again shows all of it, without duplicates', () =>
    stage().visit(async (empty) => {
      const tab = await empty.beside()
      await tab.say('hold the closed tab')
      await tab.open('The first half')
      const { sessionId } = tab
      const address = tab.page.url()
      await tab.page.close()
      expect(await readRunStatus(empty.page, sessionId)).toBe('running')
      const again = await empty.beside(address)
      await again.open('The first half')
      model.release('hold the closed tab')
      await again.reaches('completed')
      await again.main.getByText('and the second half').waitFor()
      expect(await again.page.getByTestId('assistant').count()).toBe(1)
      await again.equalsServer()
    }))

  it.concurrent('D27: a reload in the middle of an answer continues at the current position', () =>
    stage().visit(async (tab) => {
      await tab.say('hold the reload')
      await tab.open('The first half')
      await tab.page.reload()
      await tab.open('The first half')
      model.release('hold the reload')
      await tab.reaches('completed')
      await tab.equalsServer()
    }))

  it.concurrent('D27: two tabs show the same while one of them works', () =>
    stage().visit(async (one) => {
      await one.say('hold two tabs')
      await one.open('The first half')
      const other = await one.beside()
      await other.open('The first half')
      model.release('hold two tabs')
      await Promise.all([one.reaches('completed'), other.reaches('completed')])
      expect(await other.conversation()).toEqual(await one.conversation())
      await other.say('hold them again')
      await one.open('of hold them again')
      model.release('hold them again')
      await Promise.all([one.reaches('completed'), other.reaches('completed')])
      const stored = await readSession(one.page, one.sessionId)
      await eventually(async () => expect(await one.conversation()).toEqual(stored))
      await eventually(async () => expect(await other.conversation()).toEqual(stored))
    }))

  it.concurrent('D17, D27: text typed with Enter steers the run, text with Ctrl+Shift+Enter waits, and both show where they were used', () =>
    stage().visit(async (tab) => {
      const { keyboard } = tab.page
      await tab.say('hold the steered run')
      await tab.open('The first half')
      const hint = await tab.message.getAttribute('aria-describedby')
      expect(await tab.page.locator(`[id="${hint}"]`).textContent()).toBe(
        'The agent is at work. Enter steers it, before its next step. Ctrl+Shift+Enter queues the next message.',
      )
      await tab.message.fill('turn left')
      await keyboard.press('Enter')
      const pending = tab.page.getByTestId('pending-input')
      await pending.getByText('Steers the run: the agent reads it before its next step.').waitFor()
      expect(await tab.message.inputValue()).toBe('')
      await tab.message.fill('where am I')
      await keyboard.press('Control+Shift+Enter')
      await pending.getByText('Next message: starts when this run has ended.').waitFor()
      await tab.page.reload()
      await pending.getByText('Steers the run').waitFor()
      await pending.getByText('Next message').waitFor()
      model.release('hold the steered run')
      await tab.reaches('waiting-for-user')
      expect(await pending.count()).toBe(0)
      await tab.equalsServer()
      const said = (await tab.conversation()).map((entry) => (entry.role === 'user' ? entry.text : entry.role))
      expect(said).toEqual(['holdthesteeredrun', 'assistant', 'turnleft', 'assistant', 'whereamI', 'assistant'])
      expect(await tab.page.getByTestId('steered').count()).toBe(1)
      expect((await tab.log()).filter((event) => event.type === 'turn-start')).toHaveLength(2)
    }))

  it.concurrent('D17, S126: an input that is stopped while it waits is shown as not sent, also after a reload', () =>
    stage().visit(async (tab) => {
      await tab.say('hold the line')
      await tab.open('The first half')
      await tab.message.fill('where am I')
      await tab.page.keyboard.press('Control+Shift+Enter')
      const pending = tab.page.getByTestId('pending-input')
      await pending.getByText('Next message').waitFor()
      await tab.page.evaluate(
        (path) => fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ scope: 'all' }) }),
        `/api/agent/session/${tab.sessionId}/stop`,
      )
      await tab.reaches('stopped')
      await pending.getByText('Not sent: the agent has not read it.').waitFor()
      await tab.page.reload()
      await pending.getByText('where am I').waitFor()
      expect(await pending.count()).toBe(1)
      await tab.equalsServer()
    }))

  it.concurrent('D17, D14: text typed while the run waits for an answer is kept over a reload and read after the answer', () =>
    stage().visit(async (tab) => {
      await tab.say('where am I')
      await tab.reaches('waiting-for-user')
      await tab.message.fill('and hurry')
      await tab.page.getByRole('button', { name: 'Steer', exact: true }).click()
      const pending = tab.page.getByTestId('pending-input')
      await pending.getByText('Steers the run').waitFor()
      await tab.page.reload()
      await pending.getByText('and hurry').waitFor()
      await tab.page.getByRole('button', { name: 'Share this place' }).click()
      await tab.reaches('completed')
      await tab.page.getByTestId('steered').waitFor()
      expect(await pending.count()).toBe(0)
      await tab.equalsServer()
    }))

  it.concurrent('D30: screen readers hear a finished answer once, never its deltas, and questions at once', () =>
    stage().visit(async (tab) => {
      await tab.say('hold your breath')
      await tab.open('The first half')
      expect(await tab.announced('polite')).toEqual(['The agent is at work.'])
      expect(await tab.liveText()).not.toContain('The first half')
      model.release('hold your breath')
      await tab.reaches('completed')
      await eventually(async () =>
        expect(await tab.announced('polite')).toEqual([
          'The agent is at work.',
          'Answer: The first half of hold your breath and the second half.',
          'The run is complete.',
        ]),
      )
      await tab.page.reload()
      await tab.reaches('completed')
      expect(await tab.announced('polite')).toEqual([])
      await tab.say('where am I')
      const question = 'Get location: the agent waits for your answer in the conversation.'
      await eventually(async () => expect(await tab.announced('assertive')).toEqual([question]))
      await tab.page.reload()
      await eventually(async () => expect(await tab.announced('assertive')).toEqual([question]))
      expect(await tab.announced('polite')).toEqual([])
    }))
  it.concurrent('D23, D30: retries are shown with attempt, reason and time, also after a reload, and a withdrawn attempt is no answer', () =>
    stage().visit(async (tab) => {
      const attempts = tab.page.getByTestId('retries').getByRole('listitem')
      await tab.say('fail twice')
      await tab.open('The first half')
      model.release('fail twice', 1)
      await attempts.getByText(/^Attempt 1 failed: stream-broken .* Attempt 2 of 4 is under way since \d\d:\d\d:\d\d\.$/).waitFor()
      expect(await tab.main.getByText('The first half').count()).toBe(0)
      expect(await tab.faults()).toEqual([])
      await tab.page.reload()
      await attempts.getByText(/Attempt 2 of 4 is under way/).waitFor()
      model.release('fail twice', 2)
      await tab.reaches('completed')
      expect(await attempts.allTextContents()).toEqual([
        expect.stringMatching(/^Attempt 1 failed: stream-broken .* Attempt 2 of 4 failed too\.$/),
        expect.stringMatching(/^Attempt 2 failed: \S+ .*Too many at once.* Attempt 3 of 4 answered\.$/),
      ])
      expect(await tab.page.getByTestId('assistant').count()).toBe(1)
      expect(await tab.announced('polite')).toEqual([
        expect.stringMatching(/^Attempt 2 failed: \S+\. Attempt 3 of 4 /),
        expect.stringMatching(/^Answer: The first half of fail twice/),
        'The run is complete.',
      ])
      await tab.equalsServer()
    }))

  it.concurrent('D23: failed attempts are shown before the error, in the order in which they failed', () =>
    stage().visit(async (tab) => {
      await tab.say('give up')
      await tab.reaches('failed')
      await tab.equalsServer()
      const attempts = tab.page.getByTestId('retries').getByRole('listitem')
      const failed = [2, 3, 4].map((attempt): unknown => expect.stringMatching(new RegExp(`Attempt ${attempt} of 4 failed too\\.$`)))
      expect(await attempts.allTextContents()).toEqual(failed)
      expect(await tab.page.getByRole('alert').locator('code').textContent()).toBe('server-error')
    }))

  it.concurrent('D9: a refused key is reported in the conversation with code and variable, and the session stays usable', () =>
    stage().visit(async (tab) => {
      expect(await tab.page.getByTestId('model').textContent()).toBe('openai-compatible · held')
      await tab.say('wrong key')
      await tab.reaches('failed')
      const alert = tab.page.getByRole('alert')
      await alert.getByText('The key is in DEMO_API_KEY.').waitFor()
      expect(await alert.locator('code').textContent()).toBe('auth-permanent')
      await tab.equalsServer()
      await alert.getByText('The key is in DEMO_API_KEY.').waitFor()
      await tab.say('again')
      await tab.reaches('completed')
      await tab.main.getByText('The first half').waitFor()
      await tab.equalsServer()
    }))
})

describeWithServer('a missing key', { DEMO_MODEL: 'anthropic:claude-opus-5' }, (stage) => {
  it('D9: is reported above the page by its name, and the offline model answers', () =>
    stage().visit(async (tab) => {
      await tab.page.getByRole('alert').getByText('ANTHROPIC_API_KEY is missing').waitFor()
      await tab.say('hello')
      await tab.reaches('completed')
      await tab.equalsServer()
    }))
})

describeInBrowser('two tabs', ({ visit }) => {
  it('D14: a reload keeps the remote call pending, and one of two tabs answers for both', () =>
    visit(async (one) => {
      await one.say('where am I')
      await one.reaches('waiting-for-user')
      await one.page.reload()
      await one.page.getByRole('button', { name: 'Share this place' }).waitFor()
      const other = await one.beside()
      await other.page.getByRole('button', { name: 'Share this place' }).click()
      await Promise.all([one.reaches('completed'), other.reaches('completed')])
      await one.main.getByText('Mind the tide.').waitFor()
      expect(await one.page.getByRole('button', { name: 'Share this place' }).count()).toBe(0)
      await one.equalsServer()
      await other.equalsServer()
    }))
})
