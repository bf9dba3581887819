import type { Clock, JSONValue } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { base64url } from '../base64url.ts'
import { sha256 } from '../hash.ts'
import { unauthenticated } from './authenticator.ts'
import type { Principal } from './principal.ts'

export interface Ticket {
  readonly ticket: string
  readonly expiresAt: number
}

/** Stored content of a ticket. */
interface Grant {
  readonly id: string
  readonly tenant: string
  readonly sessionId: string
  readonly createdAt: number
  /** Expiry time of the ticket. */
  readonly expiresAt: number
  /** Expiry time of the principal. */
  readonly endsAt?: number
}

const space = 'server-tickets'
const ticketForm = /^bwlt_([0-9a-z]{9})_[A-Za-z0-9_-]{43}$/
const secretBytes = 32
const lifeMs = 60_000
const sweepLimit = 20

/**
 * One-time tickets. Each opens one stream of one session, for readers that cannot send a header. They are stored by their hash, so
 * that every process accepts them and exactly one redemption succeeds.
 */
export class Tickets {
  readonly #state: () => StateStore
  readonly #clock: Clock
  #validFrom = -Infinity

  constructor(state: () => StateStore, clock: Clock) {
    this.#state = state
    this.#clock = clock
  }

  async create({ id, tenant, expiresAt: endsAt }: Principal, sessionId: string): Promise<Ticket> {
    await this.#sweep()
    const createdAt = this.#clock.now()
    const expiresAt = createdAt + lifeMs
    // The id begins with the expiry time, so that expired tickets sort first.
    const ticket = `bwlt_${expiresAt.toString(36).padStart(9, '0')}_${base64url(crypto.getRandomValues(new Uint8Array(secretBytes)))}`
    const grant: Grant = { id, tenant, sessionId, createdAt, expiresAt, ...(endsAt !== undefined && { endsAt }) }
    const { ok } = await this.#state().compareAndSet(space, await idOf(ticket), null, { ...grant }, { ttlMs: 'never' })
    if (!ok) throw new Error('Two tickets have one id.')
    return { ticket, expiresAt }
  }

  /** Returns the principal of the ticket, which may read that session. Throws `unauthenticated`, always on the second use. */
  async redeem(ticket: string, sessionId: string | undefined): Promise<Principal> {
    const state = this.#state()
    const id = await idOf(ticket)
    const read = await state.get(space, id)
    if (read.status !== 'found') throw unauthenticated()
    const { ok } = await state.delete(space, id, read.value.version)
    const grant = grantOf(read.value.value)
    const now = this.#clock.now()
    const isOver = grant.expiresAt <= now || grant.createdAt <= this.#validFrom || (grant.endsAt ?? Infinity) <= now
    if (!ok || isOver || grant.sessionId !== sessionId) throw unauthenticated()
    return {
      id: grant.id,
      tenant: grant.tenant,
      scopes: ['sessions:read'],
      ...(grant.endsAt !== undefined && { expiresAt: grant.endsAt }),
    }
  }

  /** Revokes all tickets created before now: their callers may no longer be known. */
  revokeAll(): void {
    this.#validFrom = this.#clock.now()
  }

  /** Removes some expired tickets that were never used. */
  async #sweep(): Promise<void> {
    const state = this.#state()
    const { items } = await state.list(space, { limit: sweepLimit })
    const over = items.filter(({ value }) => grantOf(value).expiresAt <= this.#clock.now())
    await Promise.all(over.map(({ id, version }) => state.delete(space, id, version)))
  }
}

async function idOf(ticket: string): Promise<string> {
  const time = ticketForm.exec(ticket)?.[1] ?? ''
  return `${time}.${base64url(await sha256(ticket))}`
}

function grantOf(value: JSONValue): Grant {
  return value as unknown as Grant
}
