import { readFile } from 'node:fs/promises'
import { createClient } from '@bowline/client'
import type { Client } from '@bowline/client'
import type { StudioInfo } from '@bowline/studio/info'
import { isMissing } from '../server/is-missing.ts'
import { pageTokenFile } from '../server/page-token.ts'
import { dataFolderFrom, portFrom, SettingsError } from '../server/settings.ts'
import type { Environment } from '../server/settings.ts'
import { keepServer } from '../supervisor/keep-server.ts'
import type { ServerEnd } from '../supervisor/keep-server.ts'

export interface DemoConnection {
  readonly client: Client
  info(): Promise<StudioInfo>
  /** Kills the server, at once or at a point of the session. */
  kill(body: object): Promise<void>
  /** Ends the server if it was started for this terminal. */
  close(): Promise<void>
}

export interface ConnectOptions {
  /** Called when a server that was started for this terminal dies or is back. */
  readonly onServer?: (text: string) => void
}

/**
 * Connects to the demo that is running on this port and data folder, else starts one for this terminal. Throws `SettingsError` if
 * neither is possible.
 */
export async function connect(env: Environment, { onServer = () => undefined }: ConnectOptions = {}): Promise<DemoConnection> {
  const dataFolder = dataFolderFrom(env)
  const port = portFrom(env)
  const token = await readToken(dataFolder)
  if (token !== undefined && port !== 0 && (await answers(port, token))) return connectionTo(port, token, async () => undefined)
  const own = await startOwn(env, onServer)
  return connectionTo(own.port, (await readToken(dataFolder)) ?? '', own.close)
}

/** Returns undefined before the first server has started in this folder. */
async function readToken(dataFolder: string): Promise<string | undefined> {
  try {
    return (await readFile(pageTokenFile(dataFolder), 'utf8')).trim()
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

async function answers(port: number, token: string): Promise<boolean> {
  const answer = await ask(port, token, '/studio/info').catch(() => undefined)
  return answer?.ok ?? false
}

function ask(port: number, token: string, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
}

function connectionTo(port: number, token: string, close: () => Promise<void>): DemoConnection {
  return {
    client: createClient({ baseUrl: `http://127.0.0.1:${port}`, token }),
    info: async () => (await ask(port, token, '/studio/info')).json() as Promise<StudioInfo>,
    async kill(body) {
      const answer = await ask(port, token, '/studio/kill', { method: 'POST', body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(`The server refuses to be killed (${answer.status}).`)
    },
    close,
  }
}

async function startOwn(env: Environment, onServer: (text: string) => void) {
  const ready = Promise.withResolvers<number>()
  let isReady = false
  const server = keepServer({
    env: { ...env, DEMO_PORT: '0' },
    onReady: ({ url }) => {
      if (isReady) onServer('The server is back.')
      isReady = true
      ready.resolve(Number(new URL(url).port))
    },
    onGone: (exit, restartInMs) => onServer(`The server ended (${exit}). The next one starts in ${restartInMs} ms.`),
  })
  const port = await Promise.race([ready.promise, server.ended])
  if (typeof port !== 'number') throw new SettingsError(reasonOf(port))
  return {
    port,
    close: async (): Promise<void> => {
      server.stop()
      await server.ended
    },
  }
}

function reasonOf(end: ServerEnd): string {
  switch (end.type) {
    case 'refused':
      return end.message.includes('store-locked') ? `${end.message}\n${whenLocked}` : end.message
    case 'failing':
      return `The server does not start (${end.exit}). What it said stands above.`
    case 'stopped':
      return 'The server was stopped.'
  }
}

const whenLocked = 'The demo is open on another port: name it with DEMO_PORT, or take another folder with DEMO_DATA.'
