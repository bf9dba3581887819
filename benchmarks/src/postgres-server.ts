import pg from 'pg'
import { startPostgres } from '../../scripts/postgres/start-postgres.ts'

/** Server whose commits wait for the disk, and a connection to it that no store uses. */
export interface BenchServer {
  /** Address with a socket. */
  readonly url: string
  /** Address with TCP and a password. */
  readonly tcpUrl: string
  readonly query: <Row extends object = Readonly<Record<string, unknown>>>(text: string, values?: unknown[]) => Promise<readonly Row[]>
}

/** Starts a server for this work and ends it afterwards. */
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

/** Connects to a running server. */
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

/** Returns the bytes of write-ahead log so far. */
export async function walBytes({ query }: Pick<BenchServer, 'query'>): Promise<number> {
  const [row] = await query<{ readonly bytes: string }>("select pg_current_wal_insert_lsn() - '0/0' as bytes")
  return Number(row?.bytes)
}
