import { emptyView } from '@bowline/agent-loop/events'
import { StrictMode, memo, type ReactNode } from 'react'
import { renderToString } from 'react-dom/server'
import { describe, expect, it, vi } from 'vitest'
import { foldEvent, type Client, type ClientTools } from '../src/index.ts'
import { useEvents, useSession, type UseSessionResult } from '../src/react.ts'
import { nextFrame } from '../src/react/next-frame.ts'
import { SessionStore } from '../src/react/session-store.ts'
import { openPage, visibilityChange, type Page } from './support/dom.ts'
import { askStep, pendingCall, runEnd, runStart, textRun, textStep } from './support/events.ts'
import { connect, startServer } from './support/setup.ts'
import { json, resumedBy, type WireServer } from './support/wire-server.ts'

const words = ['The ', 'knot ', 'holds.']
const run = { runId: 'r1', turn: 1 }

interface View {
  readonly page: Page
  readonly shown: UseSessionResult[]
  readonly last: () => UseSessionResult
}

function Session(props: { client: Client; shown: UseSessionResult[]; tools?: ClientTools; id?: string }): ReactNode {
  const { client, shown, tools, id = 's1' } = props
  const session = useSession({ client, sessionId: id, ...(tools ? { tools } : {}) })
  shown.push(session)
  return `${session.status}:${session.messages.length}`
}

function show(client: Client, options: { tools?: ClientTools; strict?: boolean } = {}): View {
  const { strict = false, ...props } = options
  const shown: UseSessionResult[] = []
  const node = <Session client={client} shown={shown} {...props} />
  const page = openPage(strict ? <StrictMode>{node}</StrictMode> : node)
  return { page, shown, last: () => shown.at(-1) ?? expect.fail('not rendered') }
}

/** Waits until the page shows the view of a reader without interruptions. */
async function caughtUp(view: View, server: WireServer): Promise<void> {
  await expect.poll(() => view.last().view.seq === Number(server.state().cursor)).toBe(true)
  expect(view.last().view).toEqual(server.view())
}

async function holding(): Promise<WireServer> {
  const server = await startServer()
  server.exists = true
  server.add(textRun(run, 'hello', words))
  return server
}

describe('useSession', () => {
  it('C25: a reloaded page shows the fold of the log, also in the middle of an answer', async () => {
    const server = await startServer()
    server.exists = true
    server.add([...runStart(run, 'hello'), ...textStep(run, 1, words).slice(0, 5)])
    const early = show(connect(server))
    await expect.poll(() => early.last().view.open?.blocks).toMatchObject([{ text: 'The knot ' }])
    const late = show(connect(server))
    await expect.poll(() => late.last().view).toEqual(early.last().view)
    server.add([...textStep(run, 1, words).slice(5), ...runEnd(run, 'completed')])
    for (const view of [early, late]) await caughtUp(view, server)
    expect(late.last()).toMatchObject({ status: 'completed', run: { runId: 'r1', status: 'completed' }, usage: { totalTokens: 8 } })
    expect(late.last().events.reduce(foldEvent, emptyView)).toEqual(server.view())
  })

  it('C25: until the log is read the newest messages are shown, and no question is asked and no tool runs', async () => {
    const server = await startServer()
    server.exists = true
    server.add([
      ...textRun(run, 'hello', words),
      ...runStart({ runId: 'r2', turn: 2 }, 'ask'),
      ...askStep({ runId: 'r2', turn: 2 }, 1, [pendingCall('c1', 'where_am_i')]),
    ])
    const held: { destroy(): void }[] = []
    const execute = vi.fn(() => 'at sea')
    server.intercept = ({ path }, response) => {
      if (!path.endsWith('/events')) return undefined
      held.push(response)
      return 'handled'
    }
    const view = show(connect(server), { tools: { where_am_i: { execute } } })
    await expect.poll(view.page.text).toBe(`loading:${server.state().messages.length}`)
    expect(view.last()).toMatchObject({ messages: server.state().messages, pending: [], run: undefined, view: { pendingToolCalls: [] } })
    expect(server.seen.filter(({ query }) => query.has('limit')).map(({ query }) => query.get('limit'))).toEqual(['40'])
    expect(execute).not.toHaveBeenCalled()
    server.intercept = () => undefined
    for (const response of held) response.destroy()
    await caughtUp(view, server)
    expect(view.last().status).toBe('waiting-for-user')
  })

  it('C25: when the log has a gap the state replaces the fold', async () => {
    const server = await holding()
    server.forget(3)
    const view = show(connect(server))
    await expect.poll(view.page.text).toBe('completed:2')
    expect(view.last().messages).toEqual(server.state().messages)
    server.add(textRun({ runId: 'r2', turn: 2 }, 'more', words))
    await expect.poll(view.page.text).toBe('completed:4')
    expect(view.last().view.gap).toBe(false)
    expect(view.last().events.filter((event) => event.type === 'resync')).toHaveLength(1)
  })

  it('a session that does not exist yet is idle; the first input creates it and is followed', async () => {
    const server = await startServer()
    server.onRun = (runId) => server.play(textRun({ runId, turn: 1 }, 'hello', words))
    const view = show(connect(server))
    await expect.poll(view.page.text).toBe('idle:0')
    expect(view.last().connection).toEqual({ state: 'idle' })
    expect(await view.last().send('hello', { agent: 'demo' })).toMatchObject({ ok: true, runId: 'r1' })
    await expect.poll(() => view.last().status).toBe('completed')
    await caughtUp(view, server)
    expect(view.last().connection).toEqual({ state: 'open' })
    expect(server.openStreams).toBe(1)
  })

  it('a failure is in error, and the next input clears it', async () => {
    const server = await holding()
    server.onRun = (runId) => server.play(textRun({ runId, turn: 2 }, 'hello', words))
    const view = show(connect(server))
    await expect.poll(view.page.text).toBe('completed:2')
    server.intercept = ({ method }) => (method === 'POST' ? { status: 409, code: 'busy' } : undefined)
    expect(await view.last().send('again')).toMatchObject({ ok: false, error: { code: 'busy' } })
    expect(await view.last().stop()).toBeUndefined()
    await expect.poll(() => view.last().error).toMatchObject({ code: 'busy' })
    server.intercept = () => undefined
    await view.last().send('again')
    await expect.poll(view.page.text).toBe('completed:4')
    expect(view.last().error).toBeUndefined()
  })

  it('C23: steer, approve, deny, fork and switchTo are stable functions and never reject', async () => {
    const server = await holding()
    const view = show(connect(server))
    await expect.poll(view.page.text).toBe('completed:2')
    const { steer, approve, deny, fork, switchTo, cost } = view.last()
    expect(cost).toBeUndefined()
    server.intercept = ({ method }, response) => {
      if (method !== 'POST') return undefined
      json(response, { runId: 'r9' }, 202)
      return 'handled'
    }
    expect(await steer('more')).toMatchObject({ runId: 'r9' })
    await approve('a1', { input: 1 })
    await deny('a2', { reason: 'No.' })
    expect((await fork({ newSessionId: 'copy' }))?.id).toBe('copy')
    await switchTo('m1')
    const sent = server.seen.filter(({ method }) => method === 'POST').map(({ path }) => path.split('/s1/')[1])
    expect(sent).toEqual(['steer', 'approvals/a1', 'approvals/a2', 'fork', 'switch'])
    server.intercept = ({ method }) => (method === 'POST' ? { status: 409, code: 'busy' } : undefined)
    expect(await switchTo('m1')).toBeUndefined()
    await expect.poll(() => view.last().error).toMatchObject({ code: 'busy' })
    expect(view.last()).toMatchObject({ steer, approve, deny, fork, switchTo })
  })

  it('a connection that was given up can be opened again', async () => {
    const server = await holding()
    server.intercept = () => ({ status: 403, code: 'scope-missing' })
    const view = show(connect(server))
    await expect.poll(() => view.last().error).toMatchObject({ code: 'scope-missing' })
    expect(view.last()).toMatchObject({ status: 'loading', connection: { state: 'closed' } })
    server.intercept = () => undefined
    view.last().reconnect()
    await expect.poll(view.page.text).toBe('completed:2')
    expect(view.last()).toMatchObject({ error: undefined, connection: { state: 'open' } })
  })

  it('C24: the connection is that of the stream', async () => {
    const server = await holding()
    const view = show(connect(server, { random: () => 0.9 }))
    await expect.poll(() => view.last().connection).toEqual({ state: 'open' })
    server.intercept = ({ path }) => (path.endsWith('/events') ? { status: 503, code: 'draining' } : undefined)
    server.dropStreams()
    await expect.poll(() => view.last().connection).toEqual({ state: 'waiting', nextTryAt: 1_000_225 })
    server.intercept = () => undefined
    document.dispatchEvent(visibilityChange())
    await expect.poll(() => view.last().connection).toEqual({ state: 'open' })
  })
})

describe('remote tools of a page', () => {
  const call = pendingCall('c1', 'where_am_i')

  async function asking(): Promise<WireServer> {
    const server = await startServer()
    server.onRun = () => server.play([...runStart(run, 'hi'), ...askStep(run, 1, [call])])
    server.answered = resumedBy('r1', words)
    return server
  }

  it('C11: a call that comes while the page is open is run, and the answer goes on', async () => {
    const server = await asking()
    const view = show(connect(server), { tools: { where_am_i: { execute: () => 'at sea' } } })
    await expect.poll(view.page.text).toBe('idle:0')
    await view.last().send('hi')
    await expect.poll(() => view.last().status).toBe('completed')
    await caughtUp(view, server)
    expect(server.requests('POST', '/tool-results')).toHaveLength(1)
  })

  it('C13: after a reload a tool marked once waits for a confirmation, a pure one runs', async () => {
    const server = await asking()
    server.exists = true
    server.onRun('r1', {} as never)
    await expect.poll(() => server.view().status).toBe('waiting-for-user')
    let runs = 0
    const execute = (): string => `place ${++runs}`
    const view = show(connect(server), { tools: { where_am_i: { execute, effect: 'once' } } })
    await expect.poll(() => view.last().pending).toEqual([{ ...call, local: 'needs-confirm' }])
    expect(runs).toBe(0)
    view.last().confirmTool('c1')
    view.last().confirmTool('c1')
    await expect.poll(() => view.last().status).toBe('completed')
    expect(runs).toBe(1)

    const again = await asking()
    again.exists = true
    again.onRun('r1', {} as never)
    await expect.poll(() => again.view().status).toBe('waiting-for-user')
    const pure = show(connect(again), { tools: { where_am_i: { execute, effect: 'pure' } } })
    await expect.poll(() => pure.last().status).toBe('completed')
    expect(runs).toBe(2)
  })

  it('C16: with two tabs one answers, and both go on and show the same', async () => {
    const server = await asking()
    const one = show(connect(server))
    const two = show(connect(server))
    await expect.poll(one.page.text).toBe('idle:0')
    await one.last().send('hi')
    await expect.poll(() => one.last().status).toBe('waiting-for-user')
    two.last().reconnect()
    await expect.poll(() => two.last().pending).toEqual([call])
    expect(await two.last().submitToolResults([{ toolCallId: 'c1', output: 'at sea' }])).toMatchObject({ missing: [] })
    for (const view of [one, two]) await expect.poll(() => view.last().status).toBe('completed')
    expect(one.last().view).toEqual(two.last().view)
    expect(await one.last().submitToolResults([{ toolCallId: 'c1', output: 'elsewhere' }])).toBeUndefined()
    await expect.poll(() => one.last().error).toMatchObject({ code: 'tool-result-conflict' })
  })
})

describe('rendering', () => {
  it('C23: renders at most once per frame under load', async () => {
    const server = await holding()
    const frames: (() => void)[] = []
    const schedule = (run: () => void): (() => void) => {
      frames.push(run)
      return () => undefined
    }
    const store = new SessionStore(connect(server).session('s1'), { schedule })
    let changes = 0
    const leave = store.subscribe(() => changes++)
    await server.play(
      textRun(
        { runId: 'r2', turn: 2 },
        'more',
        Array.from({ length: 500 }, (_, place) => `${place} `),
      ),
    )
    await expect.poll(() => server.openStreams).toBe(1)
    expect([frames.length, changes]).toEqual([1, 0])
    while (store.getSnapshot().messages.length < 4) {
      await expect.poll(() => frames.length).toBe(1)
      frames.shift()?.()
    }
    expect(changes).toBeLessThan(10)
    leave()
  })

  it('C23: a frame comes once, and a timer replaces frames if there are none', () => {
    vi.useFakeTimers()
    try {
      const ran: string[] = []
      const frames: (() => void)[] = []
      nextFrame(() => ran.push('no frames'))
      vi.stubGlobal('requestAnimationFrame', (run: () => void) => frames.push(run))
      vi.stubGlobal('cancelAnimationFrame', (frame: number) => frames.splice(frame - 1, 1))
      nextFrame(() => ran.push('frame'))
      frames[0]?.()
      vi.advanceTimersByTime(50)
      nextFrame(() => ran.push('hidden'))
      nextFrame(() => ran.push('cancelled'))()
      vi.advanceTimersByTime(200)
      expect(ran).toEqual(['frame', 'no frames', 'hidden'])
      expect(frames).toEqual([])
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.unstubAllGlobals()
      vi.useRealTimers()
    }
  })

  it('C23: unchanged messages keep their references', async () => {
    const server = await holding()
    const view = show(connect(server))
    await expect.poll(view.page.text).toBe('completed:2')
    const before = view.last().messages
    server.add(textRun({ runId: 'r2', turn: 2 }, 'more', words))
    await expect.poll(view.page.text).toBe('completed:4')
    expect(
      view
        .last()
        .messages.slice(0, 2)
        .every((message, place) => message === before[place]),
    ).toBe(true)
  })

  it('C23: strict mode opens one stream and sends one input', async () => {
    const server = await holding()
    server.onRun = (runId) => server.play(textRun({ runId, turn: 2 }, 'more', words))
    const view = show(connect(server), { strict: true })
    await expect.poll(view.page.text).toBe('completed:2')
    await view.last().send('more')
    await expect.poll(view.page.text).toBe('completed:4')
    expect(server.requests('GET', '/events')).toHaveLength(1)
    expect(server.requests('POST', '/execute')).toHaveLength(1)
  })

  it('C23: two components on one session share one stream', async () => {
    const server = await holding()
    const client = connect(server)
    const shown: UseSessionResult[] = []
    const page = openPage([1, 2].map((key) => <Session key={key} client={client} shown={shown} />))
    await expect.poll(page.text).toBe('completed:2completed:2')
    expect(server.requests('GET', '/events')).toHaveLength(1)
  })

  it('C23: after unmount there is no stream, no tool and no render', async () => {
    const server = await startServer()
    server.exists = true
    server.add([...runStart(run, 'hi'), ...askStep(run, 1, [pendingCall('c1', 'wait')])])
    const aborted = Promise.withResolvers<void>()
    const tools: ClientTools = {
      wait: {
        effect: 'pure',
        execute: (_input, { abortSignal }) => new Promise(() => abortSignal.addEventListener('abort', () => aborted.resolve())),
      },
    }
    const view = show(connect(server), { tools })
    await expect.poll(() => view.last().pending[0]?.local).toBe('running')
    const renders = view.shown.length
    view.page.leave()
    await aborted.promise
    await expect.poll(() => server.openStreams).toBe(0)
    server.add(runEnd(run, 'aborted'))
    expect(view.shown.length).toBe(renders)
  })

  it('C23: another session id means another session', async () => {
    const server = await holding()
    const client = connect(server)
    const shown: UseSessionResult[] = []
    const page = openPage(<Session client={client} shown={shown} />)
    await expect.poll(page.text).toBe('completed:2')
    page.render(<Session client={client} shown={shown} id="s2" />)
    await expect.poll(() => server.requests('GET', '/s2/events')).toHaveLength(1)
    await expect.poll(() => server.openStreams).toBe(1)
  })

  it('C23: renders on a server without a request', () => {
    const asked: unknown[] = []
    const fetchNothing: typeof fetch = (input) => {
      asked.push(input)
      return Promise.reject(new Error('no network'))
    }
    const client = connect({ url: '' }, { fetch: fetchNothing })
    expect(renderToString(<Session client={client} shown={[]} />)).toBe('loading:0')
    expect(asked).toEqual([])
  })
})

describe('useEvents', () => {
  const Timeline = memo(function Timeline({ session }: { session: UseSessionResult['session'] }): ReactNode {
    return useEvents(session).map((event) => `${event.type} `)
  })

  function Both({ client }: { client: Client }): ReactNode {
    return <Timeline session={useSession({ client, sessionId: 's1' }).session} />
  }

  it('returns the events of the session in order, from the same stream', async () => {
    const server = await holding()
    const page = openPage(<Both client={connect(server)} />)
    const durable = server.frames.filter(({ event }) => 'seq' in event).map(({ event }) => `${event.type} `)
    await expect.poll(page.text).toBe(durable.join(''))
    expect(server.requests('GET', '/events')).toHaveLength(1)
  })

  it('works for a separate handle', async () => {
    const server = await holding()
    const page = openPage(<Timeline session={connect(server).session('s1')} />)
    await expect.poll(page.text).toContain('settled')
  })
})
