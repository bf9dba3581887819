import { AgentError, createBudget, type Budget, type IdSource, type LocalBudget } from '@bowline/agent-loop'
import { addCost, type Clock, type Cost, type Decimal, type JSONObject } from '@bowline/llm'
import type { StateStore } from '../contract/state-store.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { configChecks } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import { tenantOf } from '../keys.ts'
import { stateStoreOf } from '../state/state-store-of.ts'
import { TenantAccount, withoutExpired, type Ledger } from './tenant-account.ts'

/** Budget per tenant and time window, shared by all processes on one store. Amounts are decimal strings in one currency. */
export interface TenantBudgetOptions {
  /**
   * Limit of one tenant per window as a decimal string, such as `'2.50'`, or a function that returns it per tenant (undefined:
   * no limit). The function is called once per execution of a run. 0 refuses every call that costs anything.
   */
  readonly maxCost: Decimal | ((tenant: string) => Decimal | undefined | Promise<Decimal | undefined>)
  /** `day`: from midnight to midnight UTC. A number: windows of that many milliseconds, counted from the epoch. */
  readonly window: 'day' | number
  /** Currency of the prices of all models. Default `USD`. */
  readonly currency?: string
  /** Shared by all processes. Default: the runtime's store. */
  readonly store?: StateStore | SessionStore
  /**
   * Returns the tenant that pays for a session; undefined applies no budget. For a session of a subagent it gets the key of
   * the root session. Default: the tenant in the key, as in `tenant:<id>:…`.
   */
  readonly tenantOf?: (session: PayingSession) => string | undefined
  /**
   * Lifetime of a reservation in ms, after which it is released because its process has died. Must be longer than any model
   * call. Default 600,000.
   */
  readonly leaseMs?: number
}

/** Session facts from which `tenantOf` derives the tenant that pays. */
export interface PayingSession {
  readonly key: string
  readonly owner?: string
  readonly metadata: JSONObject
}

/** Spent, reserved and remaining money of one tenant in the present window. */
export interface TenantSpending {
  readonly tenant: string
  /** Limit as a decimal string. Absent: the tenant has no limit. */
  readonly maxCost?: string
  readonly currency: string
  /** Absent: nothing has been spent. */
  readonly spent?: Cost
  /** Money reserved for running calls, and for calls of dead processes until their lease ends. */
  readonly reserved?: Cost
  /** Money granted in addition to the limit, as a decimal string. Absent: none. */
  readonly granted?: string
  /** Remaining budget as a rounded number for display; the budget itself is exact. Absent without a limit. */
  readonly left?: number
  /** Epoch milliseconds. */
  readonly windowStartsAt: number
  readonly windowEndsAt: number
}

interface TenantBudgetsOptions extends TenantBudgetOptions {
  /** State store of the runtime. Called at the first use. */
  readonly ownState: () => StateStore
  readonly namespace: string
  readonly clock: Clock
  readonly ids: IdSource
  /** Set by tests only. */
  readonly mostAccounts?: number
}

const dayMs = 86_400_000
const defaultLeaseMs = 600_000
/** Number of accounts that are kept. Idle ones are read again at their next use. */
const usualAccounts = 1_000

/** Budgets of all tenants. Reserves and settles for this process. */
export class TenantBudgets {
  readonly #options: TenantBudgetsOptions
  /** Accounts of present windows, and of earlier windows with writes in progress. */
  readonly #accounts = new Map<string, TenantAccount>()

  constructor(options: TenantBudgetsOptions) {
    this.#options = options
  }

  /** Returns the budget of a run in this session, or undefined if none applies. Throws `invalid-config`. */
  async budgetFor(session: PayingSession): Promise<Budget | undefined> {
    const tenant = this.#tenantOf(session)
    if (tenant === undefined) return undefined
    const maxCost = await this.#limitOf(tenant)
    return maxCost === undefined ? undefined : this.#budget(tenant, maxCost)
  }

  /** Resolves when all changes are stored, or when this time is over. */
  async finishWriting(withinMs: number): Promise<void> {
    const busy = [...this.#accounts.values()].flatMap((account) => account.writing ?? [])
    if (busy.length === 0) return
    const { clock } = this.#options
    const { promise: isOver, resolve } = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + withinMs, resolve)
    await Promise.race([Promise.all(busy), isOver])
    cancel()
  }

  async spending(tenant: string): Promise<TenantSpending> {
    const { clock, currency = 'USD' } = this.#options
    const now = clock.now()
    const { start, end } = this.#windowAt(now)
    const maxCost = await this.#limitOf(tenant)
    const ledger = withoutExpired(await this.#accountOf(tenant, start).read(), now)
    const reserved = costsOf(ledger.reserved).reduce<Cost | undefined>(addCost, undefined)
    const { left, granted } = standing(ledger, maxCost ?? '0')
    return {
      tenant,
      currency,
      windowStartsAt: start,
      windowEndsAt: end,
      ...(ledger.spent && { spent: ledger.spent }),
      ...(reserved && { reserved }),
      ...(granted && { granted: granted.cost }),
      ...(maxCost !== undefined && { maxCost, left: left.cost ?? 0 }),
    }
  }

  #budget(tenant: string, maxCost: string): Budget {
    const { clock, ids, leaseMs = defaultLeaseMs } = this.#options
    const present = (): TenantAccount => this.#accountOf(tenant, this.#windowAt(clock.now()).start)
    const charge = async (account: TenantAccount, cost: Cost | undefined, id?: string): Promise<void> => {
      if (cost) this.#checkCurrency(cost)
      if (cost || id !== undefined) await account.change((ledger) => withSpent(ledger, cost, id))
    }
    return {
      coversChildren: true,
      name: 'tenant',
      reserve: async ({ cost }) => {
        if (!cost)
          throw new SessionError(
            'invalid-config',
            `The model has no price, but the tenant ${JSON.stringify(tenant)} has a budget. Name the model and set models to a registry with its price.`,
          )
        this.#checkCurrency(cost)
        const account = present()
        const id = ids.next('reservation')
        const fits = await account.change((ledger, now) => {
          if (!standing(ledger, maxCost).reserve({ tokens: 0, cost })) return undefined
          return { ...ledger, reserved: { ...ledger.reserved, [id]: { cost, until: now + leaseMs } } }
        })
        let isOpen = fits
        const settle = async (actual: { readonly cost?: Cost | undefined }): Promise<void> => {
          if (!isOpen) return
          isOpen = false
          await charge(account, actual.cost, id)
        }
        return fits ? { settle } : undefined
      },
      charge: ({ cost }) => charge(present(), cost),
      async grant(id, { cost }) {
        if (cost === undefined) return
        await present().change((ledger) => ({ ...ledger, granted: { ...ledger.granted, [id]: String(cost) } }))
      },
      get left() {
        return standing(present().latest, maxCost).left
      },
      get spent() {
        return { cost: Number(present().latest.spent?.total ?? 0) }
      },
      get reserved() {
        return { cost: costsOf(present().latest.reserved).reduce((sum, { total }) => sum + Number(total), 0) }
      },
    }
  }

  #checkCurrency(cost: Cost): void {
    const { currency = 'USD' } = this.#options
    if (cost.currency !== currency)
      throw new SessionError(
        'invalid-config',
        `tenantBudget.currency must be the currency of the prices, ${cost.currency}; received ${currency}.`,
      )
  }

  #tenantOf({ key, owner, metadata }: PayingSession): string | undefined {
    const [root = ''] = key.split('~')
    const asked = this.#options.tenantOf
    if (!asked) return tenantOf(root)
    const tenant = answerOf('tenantBudget.tenantOf', () => asked({ key: root, metadata, ...(owner !== undefined && { owner }) }))
    configChecks.optionalName('tenantBudget.tenantOf()', tenant)
    return tenant
  }

  async #limitOf(tenant: string): Promise<string | undefined> {
    const { maxCost } = this.#options
    if (typeof maxCost !== 'function') return String(maxCost)
    const asked = `tenantBudget.maxCost(${JSON.stringify(tenant)})`
    const given = await answerOf(asked, async () => maxCost(tenant))
    if (given !== undefined) checkMaxCost(asked, given)
    return given === undefined ? undefined : String(given)
  }

  #windowAt(now: number): { readonly start: number; readonly end: number } {
    const lengthMs = this.#options.window === 'day' ? dayMs : this.#options.window
    const start = Math.floor(now / lengthMs) * lengthMs
    return { start, end: start + lengthMs }
  }

  /** Returns the account of a window. A reservation is settled in the window in which it was made. */
  #accountOf(tenant: string, start: number): TenantAccount {
    const { store, ownState, namespace, clock, ids, window, leaseMs = defaultLeaseMs, mostAccounts = usualAccounts } = this.#options
    const id = `${namespace}:${window}:${start}:${tenant}`
    const known = this.#accounts.get(id)
    if (known) return known
    // Keeps the record for reservations that are settled after the end of the window.
    const ttlMs = (): number => Math.max(0, this.#windowAt(start).end - clock.now()) + 2 * leaseMs
    const state = store ? stateStoreOf(store) : ownState()
    const made = new TenantAccount({ state, id, clock, writer: ids.next('writer'), ttlMs })
    if (this.#accounts.size >= mostAccounts)
      for (const [other, account] of this.#accounts) if (!account.writing) this.#accounts.delete(other)
    this.#accounts.set(id, made)
    return made
  }
}

/** Calls a function of the host. If it fails, throws or rejects with `invalid-config` and the name of the function. */
function answerOf<Answer>(name: string, ask: () => Answer): Answer {
  const failed = (error: unknown): never => {
    throw new SessionError('invalid-config', `${name} failed: ${error instanceof Error ? error.message : String(error)}.`, { cause: error })
  }
  try {
    const answer = ask()
    return (answer instanceof Promise ? answer.catch(failed) : answer) as Answer
  } catch (error) {
    return failed(error)
  }
}

/** Throws `invalid-config` if the value is not an amount. */
export function checkMaxCost(path: string, value: unknown): void {
  try {
    createBudget({ maxCost: value as Decimal })
  } catch (error) {
    if (!AgentError.isInstance(error)) throw error
    throw new SessionError('invalid-config', `${error.message.replace(/^maxCost/, path)}.`)
  }
}

function costsOf(reserved: Ledger['reserved']): readonly Cost[] {
  return Object.values(reserved).map(({ cost }) => cost)
}

/** Returns a budget with all amounts of the ledger applied. */
function standing({ spent, reserved, granted = {} }: Ledger, maxCost: string): LocalBudget {
  const budget = createBudget({ maxCost })
  for (const [id, cost] of Object.entries(granted)) budget.grant(id, { cost })
  for (const cost of [spent, ...costsOf(reserved)]) if (cost) budget.charge({ usage: {}, cost })
  return budget
}

function withSpent({ reserved, ...ledger }: Ledger, cost: Cost | undefined, settled: string | undefined): Ledger {
  const spent = addCost(ledger.spent, cost)
  return {
    ...ledger,
    ...(spent && { spent }),
    reserved: settled === undefined ? reserved : Object.fromEntries(Object.entries(reserved).filter(([id]) => id !== settled)),
  }
}
