import type { ChatHistory } from '@bowline/client/chat'
import type { Step } from '@bowline/llm/testing'
import type { UIMessage } from 'ai'
import type { Browser } from 'playwright-core'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rounds, testSeed } from '../../../../scripts/test-length.ts'
import { bench, gate, localTool, remoteTool, type Bench } from '../support/bench.ts'
import { bundlePage, describeInBrowser } from '../support/browser.ts'
import { chatBody, postChat, textOf, userMessage } from '../support/chat.ts'

const folder = join(import.meta.dirname, '../..')
const example =
  /```tsx\n(.*?)```/s.exec(readFileSync(join(folder, '../../docs/cookbook/use-chat.md'), 'utf8'))?.[1] ?? expect.fail('there is no example')

/** Allows time for a browser on a busy machine. */
const eventually = { timeout: 10_000 }

/** Module that exposes the chat of the page to the test. */
const watchedHook = `
  export * from '@ai-sdk/react'
  import { useChat as real } from '@ai-sdk/react'
  export const useChat = (options) => (window.chat = real(options))
`

interface WatchedPage {
  readonly chat?: {
    readonly messages: UIMessage[]
    readonly status: string
    readonly sendMessage: (message: { text: string }) => Promise<void>
  }
  readonly document: { querySelectorAll(selector: string): Iterable<{ readonly textContent: string; click(): void }> }
}

const showPage = `
import { createRoot } from 'react-dom/client'
createRoot(document.body).render(<Conversation id="mine" history={await chats.load('mine')} />)`

const pageScript = bundlePage(`${example}${showPage}`, folder, { '@ai-sdk/react': watchedHook })

/** Opens the page of the cookbook in a tab, at the address of the server. */
async function openPage(browser: Browser, { url }: Bench) {
  const script = await pageScript
  const page = await (await browser.newContext()).newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.route(`${url}/page`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html><body></body><script type="module">${script.replaceAll('</script', '<\\/script')}</script>`,
    }),
  )
  const shown = () =>
    page.evaluate(() => {
      const { chat, document } = globalThis as unknown as WatchedPage
      return {
        messages: JSON.parse(JSON.stringify(chat?.messages ?? [])) as UIMessage[],
        status: chat?.status,
        lines: Array.from(document.querySelectorAll('p'), (line) => line.textContent),
      }
    })
  return {
    page,
    complaints,
    shown,
    load: async () => {
      await page.goto(`${url}/page`)
      await page.getByRole('button', { name: 'Stop' }).waitFor()
    },
    say: async (text: string) => {
      await page.getByRole('textbox').fill(text)
      // The button may be disabled by now, if an answer began when the page came back.
      await page.getByRole('button', { name: 'Send' }).click({ force: true })
    },
    press: (name: string) => page.getByRole('button', { name }).click(),
    /**
     * Sends without the button, which may be disabled, and first presses Stop if wanted. Sends nothing while the page waits for the
     * server to accept a message: the AI SDK would put its answer after both. Sends nothing while an answer arrives that is not
     * stopped: it would lose its end.
     */
    sayAtOnce: async (text: string, { stops = false } = {}) => {
      const isSent = await page.evaluate(
        ([question, isStop]) => {
          const { chat, document } = globalThis as unknown as WatchedPage
          if (isStop) for (const button of document.querySelectorAll('button')) if (button.textContent === 'Stop') button.click()
          // The end of an earlier answer also makes the page ready.
          if (!chat || (chat.status === 'streaming' && !isStop) || (chat.status !== 'error' && chat.messages.at(-1)?.role === 'user'))
            return false
          void chat.sendMessage({ text: question })
          return true
        },
        [text, stops] as const,
      )
      // Until the page shows the text, it has the previous status.
      if (isSent) await expect.poll(async () => JSON.stringify(await shown()), eventually).toContain(JSON.stringify(text))
    },
    alert: () => page.getByRole('alert').textContent(),
  }
}

const history = async ({ get }: Bench) => (await (await get('/api/chat/mine')).json()) as ChatHistory
const lineOf = (message: UIMessage) =>
  `${message.role}: ${textOf(message)}${message.parts.some(({ type }) => type === 'data-withdrawn') ? '(not sent)' : ''}`

/** Returns the inputs in the log, in order. */
async function askedIn({ runtime }: Bench): Promise<readonly string[]> {
  const asked: string[] = []
  for await (const event of runtime.session('tenant:local:s:mine').events({ live: false })) {
    if (event.type === 'run-queued') asked.push((event.input as { content: string }).content)
  }
  return asked
}

/** Creates a model whose answers continue when they are released. */
function heldAnswers() {
  const held: (() => void)[] = []
  let isFree = false
  const hold = (): { readonly wait: Promise<void> } => {
    const { open, passed } = gate()
    if (isFree) open()
    else held.push(open)
    return { wait: passed }
  }
  const textPart = (id: string, text: string) =>
    [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta: text },
      hold(),
      { type: 'text-delta', id, delta: ' and on.' },
      { type: 'text-end', id },
    ] as const
  return {
    step: (kind: number, index: number): Step => {
      const reasoning = [
        { type: 'reasoning-start', id: 'r' },
        { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
        hold(),
        { type: 'reasoning-end', id: 'r' },
      ] as const
      const parts = [hold(), ...(kind === 1 ? reasoning : []), ...textPart('a', `Answer ${index}`), hold()]
      return {
        parts,
        ...(kind === 2 && { toolCalls: [{ id: `call-${index}`, name: 'look', input: {} }] }),
        ...(kind === 3 && { toolCalls: [{ id: `call-${index}`, name: 'place', input: {} }] }),
      }
    },
    letGo: () => held.shift()?.(),
    free: () => {
      isFree = true
      for (const open of held.splice(0)) open()
    },
    hold: () => {
      isFree = false
    },
  }
}

/** Returns a generator of numbers below a limit, determined by the seed. */
function drawing(seed: number): (below: number) => number {
  let state = seed * 7919 + 1
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describeInBrowser('the page of the cookbook', (browser) => {
  it('V101, V102: loaded again, stopped and sent at random moments, it loses and duplicates nothing', async () => {
    const draw = drawing(testSeed)
    const answers = heldAnswers()
    const served = await bench({
      steps: ({ prompt }, index) => answers.step(prompt.at(-1)?.role === 'tool' ? 0 : draw(4), index),
      tools: [localTool('look', () => 'seen'), remoteTool('place')],
    })
    const accepted: string[] = []
    const tab = await openPage(browser(), served)
    tab.page.on('response', (response) => {
      if (response.request().method() !== 'POST' || !response.url().endsWith('/api/chat') || !response.ok()) return
      const { messages } = response.request().postDataJSON() as { messages: UIMessage[] }
      accepted.push(...messages.map(textOf))
    })
    await tab.load()
    let said = 0
    const actions: Readonly<Record<string, () => Promise<unknown>>> = {
      'let go': () => Promise.resolve(answers.letGo()),
      load: () => tab.load(),
      stop: () => tab.press('Stop'),
      say: async () => {
        const { status } = await tab.shown()
        if (status !== 'ready' && status !== 'error') return
        const text = `question ${said++}`
        await tab.say(text)
        await expect
          .poll(async () => JSON.stringify(await tab.shown()), eventually)
          .toMatch(new RegExp(`user: ${text}|"(submitted|streaming)"`))
      },
      'say at once': () => tab.sayAtOnce(`question ${said++}`),
      'stop and say at once': () => tab.sayAtOnce(`question ${said++}`, { stops: true }),
    }
    const names = ['say', 'say', 'let go', 'let go', 'let go', 'stop', 'load', 'say at once', 'stop and say at once']
    const told: string[] = []
    const atRest = async () => {
      answers.free()
      const stopsWaiting = async () => {
        const { run } = await history(served)
        if (run?.status === 'waiting-for-user') await tab.press('Stop')
        return run
      }
      // Another run may be queued after the one that waits.
      await expect.poll(stopsWaiting, eventually).toBeUndefined()
      await expect.poll(async () => (await tab.shown()).status, eventually).toMatch(/ready|error/)
      answers.hold()
    }
    try {
      // The history of a page has at most 200 messages.
      for (let round = 0; round < rounds({ short: 3, long: 25 }); round++) {
        for (let step = 0; step < 7; step++) {
          const name = names[draw(names.length)] ?? ''
          told.push(name)
          await actions[name]?.()
        }
        told.push('rest')
        await atRest()
        const { messages } = await history(served)
        const known = new Set(messages.map(({ id }) => id))
        // Messages that were refused or never sent are only in the page.
        await expect.poll(async () => (await tab.shown()).messages.filter(({ id }) => known.has(id)), eventually).toEqual(messages)
        for (const { role, parts } of (await tab.shown()).messages.filter(({ id }) => !known.has(id))) {
          expect(role).toBe('user')
          expect(accepted).not.toContain(textOf({ id: '', role, parts }))
        }
        await tab.load()
        const after = await tab.shown()
        expect(after.messages).toEqual(messages)
        expect(after.lines).toEqual(messages.map(lineOf))
        const asked = messages.flatMap((message) => (message.role === 'user' ? textOf(message) : []))
        expect(asked).toEqual(await askedIn(served))
        expect(asked).toEqual(expect.arrayContaining(accepted))
        expect(new Set(asked).size).toBe(asked.length)
      }
      expect(tab.complaints).toEqual([])
      expect(served.faults).toEqual([])
    } catch (error) {
      throw new Error(`With TEST_SEED=${testSeed} after: ${told.join(', ')}`, { cause: error })
    } finally {
      answers.free()
    }
  })

  it('V102: a message sent after an answer of another page shows why it was refused, and can be sent again', async () => {
    const answers = heldAnswers()
    const served = await bench({ steps: (_call, index) => answers.step(0, index) })
    const [one, two] = [await openPage(browser(), served), await openPage(browser(), served)]
    await Promise.all([one.load(), two.load()])
    await one.say('one')
    await expect.poll(async () => (await history(served)).run?.status, eventually).toBe('running')
    await two.say('two')
    await expect
      .poll(() => two.alert(), eventually)
      .toBe('The assistant is still answering. Wait for it, or stop it, and send again. Try again')
    answers.free()
    await expect.poll(async () => (await history(served)).run, eventually).toBeUndefined()
    await two.press('Try again')
    await expect.poll(async () => (await two.shown()).lines, eventually).toEqual(['user: two', 'assistant: Answer 1 and on.'])
    await one.load()
    expect((await one.shown()).lines).toEqual(['user: one', 'assistant: Answer 0 and on.', 'user: two', 'assistant: Answer 1 and on.'])
    expect([...one.complaints, ...two.complaints]).toEqual([])
  })

  it('V101: a message sent before the first answer has begun comes after that answer, also when the page is loaded again', async () => {
    const answers = heldAnswers()
    const served = await bench({ steps: (_call, index) => answers.step(0, index), runtimeOptions: { concurrency: 1 } })
    const other = await postChat(served, chatBody([userMessage('u1', 'elsewhere')], { id: 'other' }))
    const tab = await openPage(browser(), served)
    await tab.load()
    await tab.say('one')
    await expect.poll(async () => (await tab.shown()).lines, eventually).toEqual(['user: one', 'assistant: '])
    expect((await history(served)).run).toMatchObject({ status: 'queued' })
    await tab.sayAtOnce('two', { stops: true })
    await expect
      .poll(async () => (await tab.shown()).lines, eventually)
      .toEqual(['user: one', 'assistant: (not sent)', 'user: two', 'assistant: '])
    answers.free()
    await expect.poll(async () => (await tab.shown()).lines.at(-1), eventually).toBe('assistant: Answer 1 and on.')
    await other.body?.cancel()
    const { messages } = await tab.shown()
    await tab.load()
    expect((await tab.shown()).messages).toEqual(messages)
    expect(messages.map(lineOf)).toEqual(['user: one', 'assistant: (not sent)', 'user: two', 'assistant: Answer 1 and on.'])
    expect(tab.complaints).toEqual([])
  })

  it('V101: does not allow sending before the server has accepted the earlier message', async () => {
    const served = await bench({ steps: [{ text: 'Done.' }] })
    const tab = await openPage(browser(), served)
    const [asked, accepts] = [gate(), gate()]
    await tab.page.route('**/api/chat', async (route) => {
      asked.open()
      await accepts.passed
      await route.continue()
    })
    await tab.load()
    await tab.say('one')
    await asked.passed
    expect((await tab.shown()).status).toBe('submitted')
    await tab.say('two')
    await tab.page.getByRole('textbox').press('Enter')
    accepts.open()
    await expect.poll(async () => (await tab.shown()).status, eventually).toBe('ready')
    expect((await tab.shown()).lines).toEqual(['user: one', 'assistant: Done.'])
    expect(await askedIn(served)).toEqual(['one'])
    expect(tab.complaints).toEqual([])
  })
})
