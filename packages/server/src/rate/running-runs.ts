import { isEnded, statuses } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { Runtime } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import { keyPrefix } from '../session-keys.ts'

/** What is known of one tenant. */
interface Tenant {
  /** Sessions in which something happened since they were looked at last, and those that were at work then; with a number that rises. */
  readonly seen: Map<string, number>
  /** Keys of inputs on their way into the store. */
  readonly entering: Set<{ readonly key: string }>
  readAt: number
  /** Resolves when the store has told of it for the first time. */
  isRead: Promise<void>
}

const openStatuses = statuses.filter((status) => !isEnded(status))
const maxSeen = 1000
/** After which the store is read again, where other processes write to it: what it tells of them may be lost. */
const rereadMs = 60_000

export interface RunningRunsOptions {
  readonly runtime: Pick<Runtime, 'store'>
  readonly limit: number
  readonly clock: Clock
}

/**
 * Holds back new runs of a tenant that has enough at work. The store says which those are; its hints say where to look, so
 * that most inputs cost no read at all.
 */
export class RunningRuns {
  readonly #options: RunningRunsOptions
  readonly #tenants = new Map<string, Tenant>()
  #changes = 0
  #unsubscribe: (() => void) | undefined

  constructor(options: RunningRunsOptions) {
    this.#options = options
  }

  /** Does the work, which may start a run in the session. Throws `too-many-runs` instead. */
  async within<T>(tenantName: string, key: string, work: () => Promise<T>): Promise<T> {
    if (this.#options.limit === Infinity) return work()
    const tenant = await this.#tenantOf(tenantName)
    if (this.#othersOf(tenant, key) >= this.#options.limit) await this.#lookAgain(tenant)
    // In a session that is at work the input waits, or joins what is there.
    if (this.#othersOf(tenant, key) >= this.#options.limit && !(await this.#isAtWork(key))) {
      throw new ProblemError('too-many-runs', `At most ${this.#options.limit} runs of a tenant are executed at once.`)
    }
    const entry = { key }
    tenant.entering.add(entry)
    try {
      return await work()
    } finally {
      tenant.entering.delete(entry)
      this.#see(tenant, key)
    }
  }

  close(): void {
    this.#unsubscribe?.()
  }

  #othersOf({ seen, entering }: Tenant, key: string): number {
    const keys = new Set([...seen.keys(), ...[...entering].map((entry) => entry.key)])
    keys.delete(key)
    return keys.size
  }

  async #tenantOf(name: string): Promise<Tenant> {
    const { runtime, clock } = this.#options
    this.#unsubscribe ??= runtime.store.subscribe(({ key }) => key !== undefined && this.#onHint(key))
    const known = this.#tenants.get(name)
    if (!known) return this.#firstRead(name)
    await known.isRead
    const isStale = runtime.store.capabilities.processes === 'many' && clock.now() - known.readAt >= rereadMs
    if (isStale || known.seen.size > maxSeen) await this.#read(name, known)
    return known
  }

  async #firstRead(name: string): Promise<Tenant> {
    const tenant: Tenant = { seen: new Map(), entering: new Set(), readAt: 0, isRead: Promise.resolve() }
    // Runs that change while the pages are read may move between them. The hints report these runs.
    this.#tenants.set(name, tenant)
    tenant.isRead = this.#read(name, tenant)
    // The next caller tries again. This caller gets the error.
    tenant.isRead.catch(() => this.#tenants.delete(name))
    await tenant.isRead
    return tenant
  }

  #onHint(key: string): void {
    const name = /^tenant:([^:]+):s:/.exec(key)?.[1]
    const tenant = name === undefined ? undefined : this.#tenants.get(name)
    if (tenant && tenant.seen.size <= maxSeen) this.#see(tenant, key)
  }

  #see({ seen }: Tenant, key: string): void {
    seen.set(key, ++this.#changes)
  }

  /** All sessions of the tenant that are busy: some of them wait for somebody. */
  async #read(name: string, tenant: Tenant): Promise<void> {
    const { runtime, clock } = this.#options
    tenant.readAt = clock.now()
    const before = new Map(tenant.seen)
    let page: string | undefined
    do {
      const query = { status: openStatuses, expired: false, keyPrefix: keyPrefix(name), limit: maxSeen }
      const { items, next } = await runtime.store.listSessions({ ...query, ...(page !== undefined && { page }) })
      for (const { key } of items) this.#see(tenant, key)
      page = next
    } while (page !== undefined)
    for (const [key, change] of before) if (tenant.seen.get(key) === change) tenant.seen.delete(key)
  }

  /** Forgets the sessions that are not at work, unless something happened in them meanwhile. */
  async #lookAgain({ seen }: Tenant): Promise<void> {
    await Promise.all(
      [...seen].map(async ([key, change]) => {
        if (!(await this.#isAtWork(key)) && seen.get(key) === change) seen.delete(key)
      }),
    )
  }

  async #isAtWork(key: string): Promise<boolean> {
    const read = await this.#options.runtime.store.readSession(key)
    // One that waits keeps those behind it back.
    return read.status === 'found' && (['queued', 'running', 'waiting-for-retry'] as const).some((status) => status === read.value.status)
  }
}
