import pg from 'pg'
import { startPostgres } from '../../scripts/postgres/start-postgres.ts'

/** A server whose commits wait for the disk, and a connection to it that no store uses. */
export interface BenchServer {
  /** Through a socket. */
  readonly url: string
  /** Through TCP, with a password. */
  readonly tcpUrl: string
  readonly query: <Row extends object = Readonly<Record<string, unknown>>>(text: string, values?: unknown[]) => Promise<readonly Row[]>
}

/** Starts a server for this work alone, and ends it after that. */
export async function withPostgres<T>(work: (server: BenchServer) => Promise<T>): Promise<T> {
  const server = await startPostgres({ durable: true })
  try {
    const connected = await connectTo(server.url, server.tcpUrl)
    try {
      return await work(connected)
    } finally {
      await connected.end()
    }
  } finally {
    await server.stop()
  }
}

/** Connects to a server that is there already. */
export async function connectTo(url: string, tcpUrl: string): Promise<BenchServer & { end(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    url,
    tcpUrl,
    query: async <Row extends object>(text: string, values?: unknown[]) => (await client.query<Row>(text, values)).rows,
    end: () => client.end(),
  }
}

/** Returns how many bytes of log the server has written so far. */
export async function walBytes({ query }: Pick<BenchServer, 'query'>): Promise<number> {
  const [row] = await query<{ readonly bytes: string }>("select pg_current_wal_insert_lsn() - '0/0' as bytes")
  return Number(row?.bytes)
}
