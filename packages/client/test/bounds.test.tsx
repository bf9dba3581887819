import type { ReactNode } from 'react'
import { renderToString } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { createChatClient } from '../src/chat.ts'
import type { Client, ClientSession } from '../src/index.ts'
import { useSession } from '../src/react.ts'
import { SessionStore } from '../src/react/session-store.ts'
import { textRun } from './support/events.ts'
import { connect, startServer } from './support/setup.ts'

function Session({ client, shown, id }: { client: Client; shown: ClientSession[]; id: string }): ReactNode {
  const { session, status } = useSession({ client, sessionId: id })
  shown.push(session)
  return status
}

describe('bounds of what one client remembers', () => {
  it('remembers the newest thousand sessions that it named and has not sent to, and asks the server about older ones', async () => {
    const asked: string[] = []
    const answer = (_url: unknown, { body }: RequestInit = {}): Promise<Response> => {
      asked.push((body as string).includes('"context"') ? 'with context' : 'without')
      return Promise.resolve(new Response('', { status: 401 }))
    }
    const client = connect({ url: 'http://127.0.0.1:1' }, { fetch: answer })
    for (let round = 0; round < 3; round++) {
      const sessions = Array.from({ length: 1_001 }, () => client.session())
      for (const n of [0, 1, 1_000]) await sessions[n]?.send('hello').result()
      expect(asked.splice(0)).toEqual(['without', 'with context', 'with context'])
    }
  })

  it('a chat client remembers the open answers of the newest thousand conversations', async () => {
    const runs: (string | null)[] = []
    const answer = (url: unknown): Promise<Response> => {
      const { pathname, searchParams } = new URL(String(url))
      if (!pathname.endsWith('/stream'))
        return Promise.resolve(Response.json({ messages: [], run: { runId: `run of ${pathname.split('/').at(-1)}` } }))
      runs.push(searchParams.get('run'))
      return Promise.resolve(new Response(null, { status: 204 }))
    }
    const chat = createChatClient({ baseUrl: 'http://127.0.0.1:1', fetch: answer })
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n <= 1_000; n++) await chat.load(`c${round}-${n}`)
      for (const n of [0, 1, 1_000]) await chat.transport.reconnectToStream({ chatId: `c${round}-${n}` })
      expect(runs.splice(0)).toEqual([null, `run of c${round}-1`, `run of c${round}-1000`])
    }
  })

  it('C23: a snapshot has the newest events, however many came', async () => {
    const server = await startServer()
    server.exists = true
    server.add(textRun({ runId: 'r1', turn: 1 }, 'hello', ['hi']))
    const store = new SessionStore(connect(server).session('s1'), { keptEvents: 5 })
    const leave = store.subscribe(() => undefined)
    for (let turn = 2; turn <= 5; turn++) {
      await server.play(textRun({ runId: `r${turn}`, turn }, 'more', ['a', 'b', 'c', 'd', 'e', 'f', 'g']))
      await expect.poll(() => store.getSnapshot().messages.length).toBe(2 * turn)
      const { events } = store.getSnapshot()
      expect(events).toHaveLength(5)
      expect(events.at(-1)).toMatchObject({ runId: `r${turn}` })
    }
    leave()
  })

  it('C23: a server that renders many sessions with one client keeps the newest thousand', () => {
    const client = connect({ url: '' })
    const handles = (first: number, last: number): readonly ClientSession[] => {
      const shown: ClientSession[] = []
      for (let n = first; n <= last; n++) renderToString(<Session client={client} shown={shown} id={`s${n}`} />)
      return shown
    }
    for (let round = 0; round < 2; round++) {
      const first = round * 10_000
      const before = handles(first, first + 1_000)
      expect(handles(first + 1, first + 1)[0]).toBe(before[1])
      expect(handles(first, first)[0]).not.toBe(before[0])
    }
  })
})
