import type { Clock } from '@bowline/llm'
import type { Batch, CommitResult } from '../../../src/contract/batch.ts'
import { firstInLine, openStatuses } from '../../../src/contract/run-status.ts'
import type { Claim, ClaimRequest, Lease, LeaseState, SessionStore, StoreOpenOptions } from '../../../src/contract/session-store.ts'
import type { RunRecord } from '../../../src/contract/records.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { hintsOf } from '../../../src/core/rules.ts'
import { aroundStore } from '../../../../testing/src/around-store.ts'
import { SharedDeltas } from './shared-deltas.ts'
import type { SharedHandle, SharedStoreFaults } from './shared-handle.ts'

/** The right to work on a session, as in a queue. It holds the key of the session and nothing else. */
interface Ticket {
  isWaiting: boolean
  /** Process that holds the ticket, and the end of its time without a renewal. */
  active: { readonly owner: string; until: number; readonly hadMore: boolean } | undefined
}

/**
 * A memory store that many processes share. It checks leases by its own clock only. As with a queue, only the process with the
 * ticket of a session works on it. Each commit that leaves work sends a ticket, and the commit that finishes the work completes
 * it. A ticket that is not renewed is given out again. A sweep finds lost tickets.
 */
export class SharedStore {
  readonly base: SessionStore
  readonly deltas: SharedDeltas
  readonly #clock: Clock
  readonly #faults: SharedStoreFaults
  readonly #tickets = new Map<string, Ticket>()
  /** Clock by which leases are compared at the moment. */
  #leaseClock: Clock

  constructor(clock: Clock, faults: SharedStoreFaults) {
    this.#clock = clock
    this.#leaseClock = clock
    this.#faults = faults
    const store = memoryStore()
    const capabilities = { ...store.capabilities, durable: 'process', processes: 'many' } as const
    this.base = new Proxy(store, {
      get: (target, name) => (name === 'capabilities' ? capabilities : (Reflect.get(target, name) as unknown)),
    })
    this.deltas = new SharedDeltas(this.base)
  }

  async open(options: StoreOpenOptions): Promise<void> {
    await this.base.open({
      ...options,
      clock: { now: () => this.#leaseClock.now(), setTimer: (...given) => this.#clock.setTimer(...given) },
    })
  }

  /** Returns the store for one process. It executes calls at once. */
  handle(process: Clock): SharedHandle {
    const around = aroundStore(this.base, async (operation, args, go) => {
      if (operation === 'commit') return this.#commit(args[0] as Batch)
      if (operation === 'due' && args[0] !== 0) await this.#findLostTickets()
      if (operation === 'renew') return this.#byClockOf(process, () => this.#renew(...(args as [readonly Lease[], number])))
      if (operation === 'claim') return this.#byClockOf(process, () => this.#claim(args[0] as ClaimRequest))
      return go()
    })
    const completeTicket = async (key: string): Promise<void> => void this.#tickets.delete(key)
    const more: Partial<SharedHandle> = { completeTicket, deltas: this.deltas }
    return new Proxy(around, { get: (target, name) => Reflect.get(name in more ? more : target, name) as unknown }) as SharedHandle
  }

  /** Compares leases by the clock of this process. Operations run one after the other, so that no other one uses this clock. */
  async #byClockOf<T>(process: Clock, work: () => Promise<T>): Promise<T> {
    if (this.#faults.trustsClocks) this.#leaseClock = process
    try {
      return await work()
    } finally {
      this.#leaseClock = this.#clock
    }
  }

  async #commit(batch: Batch): Promise<CommitResult> {
    const result = await this.base.commit(batch)
    if (!result.ok || result.existing) return result
    this.deltas.applied(batch)
    await this.#completeTicket(batch.key)
    for (const { key, wake } of hintsOf(batch)) if (wake && key !== undefined) this.#send(key)
    return result
  }

  /** Completes the ticket after its work is done. Runs that are still queued need another ticket. */
  async #completeTicket(key: string): Promise<void> {
    const ticket = this.#tickets.get(key)
    if (!ticket?.active) return
    const open = await this.#openRuns(key)
    if (open.some(({ status }) => status === 'running')) return
    const hasMore = this.#faults.losesWakes ? ticket.active.hadMore : open.some(({ status }) => status === 'queued')
    ticket.active = undefined
    if (hasMore) ticket.isWaiting = true
    this.#tidy(key, ticket)
  }

  #send(key: string): void {
    const ticket = this.#tickets.get(key) ?? { isWaiting: false, active: undefined }
    if (this.#faults.losesWakes && ticket.active) return
    ticket.isWaiting = true
    this.#tickets.set(key, ticket)
  }

  #tidy(key: string, { isWaiting, active }: Ticket): void {
    if (!isWaiting && !active) this.#tickets.delete(key)
  }

  async #claim(request: ClaimRequest): Promise<readonly Claim[]> {
    this.#returnUnrenewed()
    const claims: Claim[] = []
    const session = request.runId === undefined ? undefined : await this.base.readRun(request.runId)
    const keys = session?.status === 'found' ? [session.value.session] : [...this.#tickets.keys()]
    for (const key of keys) {
      if (claims.length >= request.max) break
      const ticket = this.#tickets.get(key)
      if (!ticket?.isWaiting || ticket.active) continue
      const claimed = await this.#claimWith(key, ticket, request)
      if (claimed.length === 0 && this.#faults.waitsForTenants && request.maxRunsPerTenant !== undefined && key.startsWith('tenant:')) break
      claims.push(...claimed)
    }
    return claims
  }

  async #claimWith(key: string, ticket: Ticket, request: ClaimRequest): Promise<readonly Claim[]> {
    const open = await this.#openRuns(key)
    const first = firstInLine(open)
    const isSpare = first?.status !== 'queued' && first?.status !== 'running'
    if (isSpare) {
      ticket.isWaiting = false
      this.#tidy(key, ticket)
      return []
    }
    const claims = await this.base.claim({ ...request, max: 1, runId: request.runId ?? first.id })
    if (claims.length === 0) return claims
    ticket.isWaiting = false
    ticket.active = { owner: request.owner, until: this.#clock.now() + request.leaseMs, hadMore: open.length > 1 }
    return claims
  }

  async #renew(leases: readonly Lease[], leaseMs: number): Promise<readonly LeaseState[]> {
    const states = await this.base.renew(leases, leaseMs)
    for (const { runId, held } of states) {
      const run = held ? await this.base.readRun(runId) : undefined
      const active = run?.status === 'found' ? this.#tickets.get(run.value.session)?.active : undefined
      if (active && run?.status === 'found' && active.owner === run.value.owner) active.until = this.#clock.now() + leaseMs
    }
    return states
  }

  #returnUnrenewed(): void {
    for (const ticket of this.#tickets.values()) {
      if (!ticket.active || ticket.active.until > this.#clock.now()) continue
      ticket.active = undefined
      ticket.isWaiting = true
    }
  }

  async #findLostTickets(): Promise<void> {
    for (const { key } of (await this.base.listSessions({ expired: false, limit: 1000 })).items) {
      const first = firstInLine(await this.#openRuns(key))
      if ((first?.status === 'queued' || first?.status === 'running') && !this.#tickets.has(key)) this.#send(key)
    }
  }

  async #openRuns(key: string): Promise<readonly RunRecord[]> {
    return (await this.base.listRuns(key, { status: openStatuses, limit: 1000 })).items
  }
}
