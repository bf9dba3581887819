import pg from 'pg'
import type { NewClient, Queries } from '../src/store/pg-session.ts'

export type Place = Pick<pg.ClientConfig, 'host' | 'port' | 'user' | 'password' | 'database'>

export function placeOf(url: string): Place {
  const { host, port, user, password, database } = new pg.Client({ connectionString: url })
  return { host, port, user, database, ...(typeof password === 'string' ? { password } : {}) }
}

export function clientsFor(place: Place): NewClient {
  return (settings) => new pg.Client({ ...place, ...settings })
}

/** Runs one statement on its own connection. */
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

/** Runs statements on their own connections, like a pool of the store. */
export function queriesOf(place: Place): Queries {
  return { query: <Row extends object>(text: string, values: readonly unknown[] = []) => ask<Row>(place, text, [...values]) }
}
