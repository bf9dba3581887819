import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import pg from 'pg'
import { afterEach } from 'vitest'
import type { NewClient } from '../../../src/stores/postgres/pg-session.ts'

export type Place = Pick<pg.ClientConfig, 'host' | 'port' | 'user' | 'password' | 'database'>

export function placeOf(url: string): Place {
  const { host, port, user, password, database } = new pg.Client({ connectionString: url })
  return { host, port, user, database, ...(typeof password === 'string' ? { password } : {}) }
}

export function clientsFor(place: Place): NewClient {
  return (settings) => new pg.Client({ ...place, ...settings })
}

/** Runs one statement on a connection of its own. */
export async function ask<Row extends object>(place: Place, text: string, values: unknown[] = []): Promise<readonly Row[]> {
  const client = new pg.Client(place)
  await client.connect()
  try {
    const { rows } = await client.query<Row>(text, values)
    return rows
  } finally {
    await client.end()
  }
}

/** Runs statements on a connection of its own, as a pool of the store would. */
export function queriesOf(place: Place): { query<Row extends object>(text: string, values?: readonly unknown[]): Promise<readonly Row[]> } {
  return { query: <Row extends object>(text: string, values: readonly unknown[] = []) => ask<Row>(place, text, [...values]) }
}

export interface Proxy {
  readonly place: Place
  /** Nothing passes any more, and no connection ends. */
  silence(): void
}

/** Returns how to start proxies, which are stopped after each test. */
export function proxies(): (target: Place) => Promise<Proxy> {
  const stops: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })
  return async (target) => {
    const open = new Set<Socket>()
    const server = createServer((client) => {
      const upstream = target.host?.startsWith('/') === true ? connect(`${target.host}/.s.PGSQL.${target.port}`) : connect(target.port ?? 5432, target.host)
      for (const [socket, other] of [[client, upstream], [upstream, client]] as const) {
        open.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          open.delete(socket)
          other.destroy()
        })
        socket.pipe(other)
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    stops.push(async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    })
    return {
      place: { ...target, host: '127.0.0.1', port: (server.address() as AddressInfo).port },
      silence() {
        for (const socket of open) socket.unpipe().pause()
      },
    }
  }
}
