import { LLMock } from '@copilotkit/aimock'
import { afterAll, expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'

describeInBrowser('a key that is missing', { DEMO_MODEL: 'anthropic:claude-opus-5' }, (stage) => {
  it('D9: is told above the page by its name, and the offline model answers', async () => {
    const tab = await stage().open()
    await tab.page.getByRole('alert').getByText('ANTHROPIC_API_KEY is missing').waitFor()
    await tab.say('hello')
    await tab.reaches('completed')
    await tab.equalsServer()
    expect(tab.complaints).toEqual([])
  })
})

const wire = new LLMock({ port: 0 })

async function refusingProvider() {
  await wire.start()
  wire.addFixture({
    match: { userMessage: 'hello', sequenceIndex: 0 },
    response: { error: { message: 'Incorrect API key provided.', type: 'invalid_request_error' }, status: 401 },
  })
  wire.onMessage('again', { content: 'Now it works.' })
  return { OPENAI_API_KEY: 'wrong', OPENAI_BASE_URL: `${wire.url}/v1` }
}

describeInBrowser('a key that is refused', refusingProvider, (stage) => {
  afterAll(() => wire.stop())

  it('D9: is told in the conversation with code and variable, and the session stays usable', async () => {
    const tab = await stage().open()
    expect(await tab.page.getByTestId('model').textContent()).toBe('openai · gpt-5.4-mini')
    await tab.say('hello')
    await tab.reaches('failed')
    const alert = tab.page.getByRole('alert')
    await alert.getByText('The key is in OPENAI_API_KEY.').waitFor()
    expect(await alert.locator('code').textContent()).toBe('auth-permanent')
    await tab.equalsServer()
    await alert.getByText('The key is in OPENAI_API_KEY.').waitFor()
    await tab.say('again')
    await tab.reaches('completed')
    await tab.page.getByText('Now it works.').waitFor()
    await tab.equalsServer()
    expect(tab.complaints).toEqual([])
  })
})
