import { SessionError } from '@bowline/sessions/store-parts'
import { replyCode, replyError } from './reply-errors.ts'
import type { RedisClient } from './client.ts'

const leastVersion = [6, 2] as const

/** Checks the settings of a server, or of every node with records in a cluster. */
export class ServerCheck {
  readonly #onWarning: (message: string) => void
  readonly #warned = new Set<string>()

  constructor(onWarning: (message: string) => void) {
    this.#onWarning = onWarning
  }

  /** Throws a `SessionError` if the server is not ready, or would delete records on its own. */
  async run(client: RedisClient): Promise<void> {
    for (const node of await nodesOf(client)) this.#checkNode(fieldsOf(await infoOf(node)))
  }

  #checkNode(info: ReadonlyMap<string, string>): void {
    const version = info.get('redis_version')
    if (version !== undefined && isOlder(version)) {
      throw new SessionError('invalid-config', `Redis 6.2 or later is needed; this server has ${version}.`)
    }
    if (info.get('loading') === '1')
      throw new SessionError('store-unavailable', 'Redis is still loading its data from disk. Try again later.')
    const policy = info.get('maxmemory_policy')
    if (policy !== undefined && policy !== 'noeviction') {
      throw new SessionError(
        'invalid-config',
        `Redis would evict records when its memory is full: its maxmemory-policy is ${policy}. Set it to noeviction.`,
      )
    }
    if (info.get('aof_enabled') === '0') {
      this.#warn('Redis loses the newest state records when it crashes: its append-only file is off. Set appendonly to yes.')
    }
  }

  #warn(message: string): void {
    if (this.#warned.has(message)) return
    this.#warned.add(message)
    this.#onWarning(message)
  }
}

async function nodesOf(client: RedisClient): Promise<readonly Pick<RedisClient, 'info'>[]> {
  const { masters } = client
  if (!masters) return [client]
  return Promise.all(masters.map(async (master) => client.nodeClient?.(master as never) ?? client))
}

async function infoOf(node: Pick<RedisClient, 'info'>): Promise<string> {
  try {
    return String(await node.info())
  } catch (error) {
    const code = replyCode(error)
    throw code === undefined ? error : replyError('Redis', code)
  }
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  const fields = info.split('\r\n').filter((line) => line.includes(':'))
  return new Map(fields.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < leastVersion[0] || (major === leastVersion[0] && minor < leastVersion[1])
}
