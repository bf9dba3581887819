import { isEnded, statuses } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { Runtime } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import { keyPrefix } from '../session-keys.ts'

/** Known state of one tenant. */
interface Tenant {
  /**
   * Sessions that may be running: those that ran at the last read, and those that changed since. The value is an increasing number.
   */
  readonly seen: Map<string, number>
  /** Keys of sessions whose input is being stored. */
  readonly entering: Set<{ readonly key: string }>
  /** Number of callers that use this object. Until they leave it must not be dropped. */
  users: number
  readAt: number
  /** Resolves after the first read of the store. */
  isRead: Promise<void>
}

const openStatuses = statuses.filter((status) => !isEnded(status))
/** `tenants` that are known, and `seen` sessions of each. */
const most = { tenants: 1000, seen: 1000 } as const
/** Age in ms after which the store is read again, if other processes write to it: their hints may be lost. */
const rereadMs = 60_000

export interface RunningRunsOptions {
  readonly runtime: Pick<Runtime, 'store'>
  readonly limit: number
  readonly clock: Clock
  /** Set by tests only. */
  readonly most?: { readonly tenants: number; readonly seen: number }
}

/**
 * Limits the concurrent runs of a tenant. The store knows which runs are open. Its hints name changed sessions, so that most inputs
 * need no read.
 */
export class RunningRuns {
  readonly #options: RunningRunsOptions
  readonly #most: { readonly tenants: number; readonly seen: number }
  /** Least recently used first. */
  readonly #tenants = new Map<string, Tenant>()
  #changes = 0
  #unsubscribe: (() => void) | undefined

  constructor(options: RunningRunsOptions) {
    this.#options = options
    this.#most = options.most ?? most
  }

  /** Runs `work`, which may start a run in the session. Throws `too-many-runs` if the limit is reached. */
  async within<T>(tenantName: string, key: string, work: () => Promise<T>): Promise<T> {
    if (this.#options.limit === Infinity) return work()
    const tenant = this.#tenantOf(tenantName)
    tenant.users += 1
    try {
      await this.#makeCurrent(tenantName, tenant)
      return await this.#enter(tenant, key, work)
    } finally {
      tenant.users -= 1
    }
  }

  async #enter<T>(tenant: Tenant, key: string, work: () => Promise<T>): Promise<T> {
    if (this.#othersOf(tenant, key) >= this.#options.limit) await this.#lookAgain(tenant)
    // In a session that is already running, the input is queued or joins the open run.
    if (this.#othersOf(tenant, key) >= this.#options.limit && !(await this.#isAtWork(key))) {
      throw new ProblemError('too-many-runs', `The limit of concurrent runs of a tenant is reached (${this.#options.limit}). Retry later.`)
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

  /** Returns the tenant, and drops those that were not used for the longest time. They are read again at their next input. */
  #tenantOf(name: string): Tenant {
    this.#unsubscribe ??= this.#options.runtime.store.subscribe(({ key }) => key !== undefined && this.#onHint(key))
    const tenant = this.#tenants.get(name) ?? this.#firstRead(name)
    this.#tenants.delete(name)
    this.#tenants.set(name, tenant)
    for (const [oldest, { users }] of this.#tenants) {
      if (this.#tenants.size <= this.#most.tenants) break
      if (users === 0 && oldest !== name) this.#tenants.delete(oldest)
    }
    return tenant
  }

  async #makeCurrent(name: string, tenant: Tenant): Promise<void> {
    const { runtime, clock } = this.#options
    await tenant.isRead
    const isStale = runtime.store.capabilities.processes === 'many' && clock.now() - tenant.readAt >= rereadMs
    if (isStale || tenant.seen.size > this.#most.seen) await this.#read(name, tenant)
  }

  #firstRead(name: string): Tenant {
    const tenant: Tenant = { seen: new Map(), entering: new Set(), users: 0, readAt: 0, isRead: Promise.resolve() }
    // Runs that change while the pages are read may move between them. The hints report these runs.
    this.#tenants.set(name, tenant)
    tenant.isRead = this.#read(name, tenant)
    // This caller gets the error. The next caller reads again.
    tenant.isRead.catch(() => this.#tenants.delete(name))
    return tenant
  }

  #onHint(key: string): void {
    const name = /^tenant:([^:]+):s:/.exec(key)?.[1]
    const tenant = name === undefined ? undefined : this.#tenants.get(name)
    if (tenant && tenant.seen.size <= this.#most.seen) this.#see(tenant, key)
  }

  #see({ seen }: Tenant, key: string): void {
    seen.set(key, ++this.#changes)
  }

  /** Reads all open sessions of the tenant, including those that wait for an answer. */
  async #read(name: string, tenant: Tenant): Promise<void> {
    const { runtime, clock } = this.#options
    tenant.readAt = clock.now()
    const before = new Map(tenant.seen)
    let page: string | undefined
    do {
      const query = { status: openStatuses, expired: false, keyPrefix: keyPrefix(name), limit: most.seen }
      const { items, next } = await runtime.store.listSessions({ ...query, ...(page !== undefined && { page }) })
      for (const { key } of items) this.#see(tenant, key)
      page = next
    } while (page !== undefined)
    for (const [key, change] of before) if (tenant.seen.get(key) === change) tenant.seen.delete(key)
  }

  /** Forgets sessions that are not running, unless they changed meanwhile. */
  async #lookAgain({ seen }: Tenant): Promise<void> {
    await Promise.all(
      [...seen].map(async ([key, change]) => {
        if (!(await this.#isAtWork(key)) && seen.get(key) === change) seen.delete(key)
      }),
    )
  }

  async #isAtWork(key: string): Promise<boolean> {
    const read = await this.#options.runtime.store.readSession(key)
    // A run that waits for an answer blocks the queued ones after it, so none of them is running.
    return read.status === 'found' && (['queued', 'running', 'waiting-for-retry'] as const).some((status) => status === read.value.status)
  }
}
