import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@bowline/client'
import { expect, it } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { program } from '../../../../scripts/programs.ts'
import { rounds } from '../../../../scripts/test-length.ts'
import { say, temporaryFolder } from '../support/bench.ts'
import { servingCommand, type RunningCommand } from '../support/command.ts'

const restarts = rounds({ short: 3, long: 20 })
const users = rounds({ short: 8, long: 100 })

type Server = RunningCommand & { readonly url: string }

/** Starts two servers on one database with one stable address, as a load balancer provides it. */
function twoServers(start: () => Promise<Server>) {
  const servers: Server[] = []
  const refused: string[] = []
  let turn = 0
  /** Sends a request to the servers in turn, and retries it until one accepts it. */
  async function balanced(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input)
    for (let tries = 0; ; tries++) {
      const server = servers[++turn % servers.length]
      try {
        const response = await fetch(`${server?.url}${pathname}${search}`, init)
        if (response.status < 500) return response
        const { code } = (await response.clone().json()) as { code?: string }
        if (code !== 'draining') refused.push(`${response.status} ${code}`)
        if (code !== 'draining' || tries > 100) return response
      } catch (error) {
        // The server at this address has stopped.
        const { cause } = error as { cause?: { code?: string } }
        if (cause?.code !== 'ECONNREFUSED' || tries > 100) throw error
      }
    }
  }
  return {
    balanced,
    refused,
    async start() {
      servers.push(await start(), await start())
    },
    /** Starts a new server before the old one stops. */
    async replace(place: number) {
      const leaving = servers[place]
      servers[place] = await start()
      leaving?.child.kill('SIGTERM')
      return leaving?.ended
    },
  }
}

const database = testDatabase()

it(
  `V87, S194: ${restarts} rolling restarts under ${users} users: each input is answered, paid for once, and shown the same to all`,
  { timeout: rounds({ short: 60_000, long: 1_200_000 }) },
  async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'payments')
    writeFileSync(file, '')
    const environment = { PAYMENTS: file }
    const flags = [
      '--agents',
      program('server/test/fixtures/paying-agents'),
      '--store',
      database.url,
      '--drain-ms',
      '200',
      '--limits.runs-per-tenant',
      '1000',
    ]
    const both = twoServers(() => servingCommand(flags, { folder, environment }))
    await both.start()
    const client = createClient({ baseUrl: 'http://balanced.test', fetch: both.balanced })
    let isOver = false
    const sent: string[] = []

    /** Holds one conversation, one input after the other. */
    async function talk(user: number) {
      const session = client.session(`user-${user}`)
      const statuses: string[] = []
      for (let n = 1; !isOver; n++) {
        const payment = `${user}-${n}`
        const run = session.send(say(`pay for ${payment}`))
        sent.push(payment)
        statuses.push((await run.result()).status)
      }
      return statuses
    }
    const talks = Array.from({ length: users }, (_, user) => talk(user))
    const exits: unknown[] = []
    for (let n = 0; n < restarts; n++) exits.push(await both.replace(n % 2))
    isOver = true
    const statuses = (await Promise.all(talks)).flat()

    expect(exits).toEqual(exits.map(() => 0))
    expect(both.refused).toEqual([])
    expect(statuses.filter((status) => status !== 'completed')).toEqual([])
    expect(statuses).toHaveLength(sent.length)
    expect(readFileSync(file, 'utf8').trim().split('\n').toSorted()).toEqual(sent.toSorted())
    for (let user = 0; user < users; user++) {
      const views = await Promise.all([1, 2].map(() => client.session(`user-${user}`).state()))
      expect(views[1]).toEqual(views[0])
      expect(views[0]).toMatchObject({ status: 'completed', pendingToolCalls: [] })
      expect(JSON.stringify(views[0]?.messages.at(-1))).toContain('It was paid.')
    }
  },
)
