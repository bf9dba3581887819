import type { Agent, IdSource, ToolDeclaration } from '@bowline/agent-loop'
import type { Clock, JSONObject, Message, RuntimeParams } from '@bowline/llm'
import type { Inspection } from '../commands/inspect/types.ts'
import type { ScheduleInfo } from '../commands/schedules/types.ts'
import type { ImportOptions } from '../commands/tree/types.ts'
import type { OnBusy, RunHandle, RunInfo, Session, SessionInfo, SessionReader } from '../commands/types.ts'
import type { NoticeQuery, NoticeRecord } from '../contract/notices.ts'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { RunKind, SessionTtl, Webhook } from '../contract/records.ts'
import type { Placement, PruneReport, SessionQuery, SessionStore } from '../contract/session-store.ts'
import type { DefinitionPolicy } from '../contract/definition-diff.ts'
import type { RequestRecorder } from '../requests/types.ts'
import type { TenantBudgetOptions, TenantSpending } from './tenant-budgets.ts'

/** Agents, store, limits and callbacks of one runtime. Only `agents` is required. Unknown keys are refused with `invalid-config`. */
export interface RuntimeOptions {
  /** Agents with unique names. The first is the default agent. */
  readonly agents: readonly Agent[]
  /** Default: a memory store. */
  readonly store?: SessionStore
  /** Part of every stored key. Default `default`. */
  readonly namespace?: string
  /** Number of runs that this process executes at once. Default 32. */
  readonly concurrency?: number
  /**
   * Limit of concurrent runs per tenant, across all processes on this store. Further runs stay queued and do not block other
   * tenants. Two processes that claim at the same moment may exceed it. The session key `tenant:<id>:…` names the tenant. Runs
   * of subagents do not count. Default: no limit.
   */
  readonly maxRunsPerTenant?: number
  /**
   * Spending limit of each tenant per window, shared by all processes on its store. Each model call, including compactions, is
   * reserved before it is made and settled before its answer is stored: two store calls. A call that exceeds the budget ends
   * its run as `limit`, `max-cost`. Every model needs a price. Default: no budget.
   */
  readonly tenantBudget?: TenantBudgetOptions
  /** Action on an input while a run of its session is open. Default `queue`. */
  readonly onBusy?: OnBusy
  /**
   * `boundary` (default): every boundary of a turn is stored before the next step begins. `turn`: only boundaries with
   * external effects are stored at once, and readers see the others with the next commit; a crash repeats the model calls
   * since then. Both keep the promises for tools that are not `pure` and for turn records of extensions.
   */
  readonly durability?: 'boundary' | 'turn'
  /** Action on a run that continues after the definition of its agent has changed. Default `continue`. */
  readonly onDefinitionChange?: DefinitionPolicy
  /** Action on a call with an unknown outcome. Default: the setting of the agent. The setting of a tool takes precedence. */
  readonly onUnknownOutcome?: 'stop' | 'tell-model'
  /** Action on the transcript of a failed turn. Default: the setting of the agent. */
  readonly onFailedTurn?: 'keep' | 'rewind'
  /** Length of a lease and interval of its renewal in milliseconds. Defaults 10,000 and 3,000. */
  readonly lease?: { readonly ttlMs?: number; readonly heartbeatMs?: number }
  /** Number of lost executions after which a run ends with an error: since its last progress, and in total. Defaults 5 and 25. */
  readonly attempts?: { readonly withoutProgress?: number; readonly total?: number }
  /** Limits of background subagents, or false to refuse them. Defaults: `maxActive` 64, `maxRetained` 256, `maxDepth` 3. */
  readonly background?: false | { readonly maxActive?: number; readonly maxRetained?: number; readonly maxDepth?: number }
  /** Lifetime of sessions that have no `ttl` of their own. Default: no expiry. */
  readonly ttl?: SessionTtl
  /** Retention times of ended runs and expired sessions. Default: see `Retention`. */
  readonly retention?: Retention
  /** Webhooks that are notified about all sessions: by a signed POST, at least once, in order per session. */
  readonly notify?: RuntimeWebhook | readonly RuntimeWebhook[]
  /** Network rules for all webhooks, those of sessions included. */
  readonly webhooks?: WebhookOptions
  /** The recorder of `recordRequests`. Deleting a session then deletes its recorded requests. Default: they are kept. */
  readonly requests?: Pick<RequestRecorder, 'remove'>
  /** Starts the runtime at the first use of the store, or at the next one if that fails. Default true. */
  readonly autoStart?: boolean
  /** False: nothing runs automatically, and the host calls `drain()`. Default true. */
  readonly timers?: boolean
  /**
   * Decides which process works on a session. `own` (default): the processes on the store claim work by themselves. `host`: an
   * engine calls `work()` for each session that `onWake` names, and no session is worked on without it.
   */
  readonly placement?: Placement
  /** Called when work or a timer is left. Can also be given by `runtime.onWake`. */
  readonly onWake?: OnWake
  /** Wraps each execution of a run, for example to open a tracing context around it. */
  readonly aroundRun?: AroundRun
  /** Time and timers. Default: the system clock. */
  readonly clock?: Clock
  /** Makes ids of runs, messages and entries. Default: random. */
  readonly ids?: IdSource
  /** Called with errors in the background. Default: `console.error`, without content. */
  readonly onError?: (error: unknown, where: ErrorContext) => void
}

/** Time in epoch milliseconds at which a host must come back. */
export interface Wake {
  readonly atMs: number
  /** Placement `host`: the session to call `work()` for. Absent with placement `own`: call `drain()`. */
  readonly key?: string
}

/**
 * Tells a host when to come back. With placement `host` it is called before the commit that caused it is acknowledged, which waits
 * for it up to 5 s. Its failure is reported to `onError` and fails nothing: a sweep tells again.
 */
export type OnWake = (wake: Wake) => void | Promise<void>

/**
 * Callback around each execution of a run, for tracing or context. It must call `execute` exactly once, without waiting first,
 * and return its result.
 */
export type AroundRun = <T>(run: RunExecution, execute: () => Promise<T>) => Promise<T>

/** One execution of a run: from its claim until it waits, ends or is given back. */
export interface RunExecution {
  readonly runId: string
  readonly session: string
  readonly agent: string
  readonly kind: RunKind
  /** Number of earlier claims. */
  readonly claims: number
}

/**
 * A webhook for all sessions of a runtime. Give every process on one store the same webhooks: a process sends only notices
 * whose webhook it knows.
 */
export interface RuntimeWebhook extends Webhook {
  /**
   * Name of the webhook in stored notices, by which a later process finds it: `[a-z0-9][a-z0-9_-]{0,62}`, not `session`.
   * Default `default`.
   */
  readonly name?: string
}

/** Network rules for the delivery of webhooks. By default only `https` to public addresses is allowed. */
export interface WebhookOptions {
  /** Allows webhooks over http. Default: https only. */
  readonly http?: boolean
  /** Addresses and ranges of your own network that are allowed although they are not public, such as `10.0.0.0/8`. Default: none. */
  readonly allow?: readonly string[]
  /** Returns all addresses of a host name. Default: the resolver of the system. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
  /** Additional trusted certificate authorities, in PEM. */
  readonly ca?: readonly string[]
  /** Random source for the backoff of retries: from 0 up to, but not including, 1. Default `Math.random`. */
  readonly random?: () => number
}

/** Retention times in milliseconds, counted from the end of a run, or from the expiry of a session. */
export interface Retention {
  /** Runs that have ended, with their events, inputs and idempotency ids, and notices that are delivered or failed. Default 30 days. */
  readonly runsMs?: number
  /** Expired sessions. After this time they are deleted. Default 7 days. */
  readonly expiredMs?: number
}

/** Origin of a background error: the activity that failed, with the run and session if known. */
export interface ErrorContext {
  readonly during: 'claim' | 'run' | 'heartbeat' | 'read' | 'sweep' | 'wake' | 'deltas' | 'notify' | 'extension'
  readonly runId?: string
  readonly session?: string
}

/** Agents, a store and a scheduler in one process. Handles of sessions do no I/O until a method is called. Disposing of it stops it. */
export interface Runtime extends AsyncDisposable {
  readonly id: string
  readonly namespace: string
  readonly store: SessionStore
  /**
   * Whether work in the background is refused (`none`), ends with the process (`in-process`) or is continued by another
   * process (`durable`).
   */
  readonly background: 'none' | 'in-process' | 'durable'
  readonly placement: Placement
  /** Whether it was made with `tenantBudget`. */
  readonly hasTenantBudget: boolean
  /** Root agents. The first is the default. */
  readonly agents: readonly Agent[]
  /**
   * Opens the store, continues runs of dead processes and begins to claim queued runs. Resolves when each continued run goes on,
   * waits or has ended, at most for the length of a lease; so runs that need a decision are found as such. If it fails, nothing
   * stays open and it can be
   * called again: `store-unavailable` says that the store does not answer now. Throws `invalid-config` if it was called before.
   */
  start(options?: StartOptions): Promise<StartReport>
  /**
   * Stops claiming, waits up to `graceMs` (default 10,000 ms) for running tools, gives open runs back to the queue and closes
   * the store.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>
  /** Returns a handle of a session that this runtime may write. Does no I/O. Throws `invalid-key` and `unknown-agent`. */
  session(key: string, options?: SessionOptions): Session
  /**
   * Returns a read-only handle of any session. It is the only handle of a child session, which its parent controls. Does no
   * I/O. Throws `invalid-key`.
   */
  reader(key: string, options?: Pick<SessionOptions, 'owner'>): SessionReader
  /** Lists sessions, the latest activity first. */
  sessions(query?: SessionQuery): Promise<Page<SessionInfo>>
  /** Lists the schedules of all sessions, ordered by session key and then by id. */
  schedules(page?: PageRequest): Promise<Page<ScheduleInfo>>
  /**
   * Returns stored facts of any session, child sessions included: commits, open work, the process and lease of each run, and
   * the next action on each call. Reads only and does not need the code of the agents. Resolves with null if there is no
   * session. Throws `invalid-key`.
   */
  inspect(key: string): Promise<Inspection | null>
  /** Returns the run with this id without claiming it, or null if the store has none. */
  run(runId: string): Promise<RunInfo | null>
  /** Claims and executes a run that no process executes. Resolves with null if the run has ended or another process holds it. */
  resume(runId: string): Promise<RunHandle | null>
  /**
   * Returns the money that a tenant has spent and reserved in the present window, the rest of its budget, and the end of the
   * window. Throws `invalid-config` without `tenantBudget`.
   */
  tenantSpending(tenant: string): Promise<TenantSpending>
  /**
   * Executes due work until none is left, or until `untilMs` (epoch milliseconds), when runs yield at their next boundary. For
   * hosts that freeze or end the process between requests.
   */
  drain(options?: DrainOptions): Promise<DrainReport>
  /**
   * Works on one session, until nothing is left to do there or until `untilMs`, and does what is due in it: timers, expiry, unread
   * inputs. For hosts that decide which process works on a session. A second call for a session joins the first. Throws
   * `invalid-key`.
   */
  work(key: string, options?: WorkOptions): Promise<WorkReport>
  /** Adds a callback to `onWake` of the options. Returns a function that removes it. */
  onWake(callback: OnWake): () => void
  /**
   * Fires due timers, expires sessions, starts runs for unread inputs, and deletes records past their retention. A running
   * runtime does this by itself.
   */
  sweep(): Promise<SweepReport>
  /** Lists notices for webhooks (pending, delivered and failed), the newest first. */
  notices(query?: NoticeQuery): Promise<Page<NoticeRecord>>
  /** Queues a delivered or failed notice again, under the same id. Resolves with null if the session has no such notice. */
  resendNotice(key: string, id: string): Promise<NoticeRecord | null>
  /**
   * Creates a session from the lines of an export: the same messages, tree, labels and leaf, with a log of its own. The
   * session is created as a whole or not at all. Throws `invalid-input` with the faulty line, `schema-too-new`,
   * `unknown-agent`, and `busy` or `conflict` if a session has the key already.
   */
  importSession(lines: AsyncIterable<string>, options?: ImportOptions): Promise<Session>
}

/** Limits of one `drain()`: end time, number of runs, abort signal. Default: drain until no work is left. */
export interface DrainOptions {
  /** Time in epoch milliseconds at which runs yield at their next boundary. Default: no time limit. */
  readonly untilMs?: number
  /** Highest number of runs to claim. */
  readonly maxRuns?: number
  /** Signal that makes runs yield at their next boundary. */
  readonly abortSignal?: AbortSignal
}

/** Limits of one `work()` and the promise of its host. */
export interface WorkOptions {
  /** Time in epoch milliseconds after which no step begins: a step in progress ends first. Default: no time limit. */
  readonly untilMs?: number
  /** Signal that makes the run yield at its next boundary: a model call is aborted, and tools get their signal and their grace. */
  readonly abortSignal?: AbortSignal
  /**
   * True: the host guarantees that no other worker is to work on this session, so a run of another process is taken over at once.
   * That process can write nothing more. While it may be executing a tool with effect `once`, its lease is waited for, so that the
   * outcome of a call is not declared unknown too early. So is the lease of a run that was claimed after this call began: this worker
   * froze meanwhile. Default false: the lease of another process is always waited for.
   */
  readonly takeOver?: boolean
}

/** Result of one `work()`. */
export interface WorkReport extends Pick<DrainReport, 'ran' | 'yielded'> {
  /** Time at which the session is to be worked on again; null: nothing is due by time. */
  readonly nextDueAt: number | null
}

/** Result of one `drain()`: counts of runs and sessions, and the time in epoch milliseconds at which the next work is due. */
export interface DrainReport {
  /** Runs that were executed until they ended or waited. */
  readonly ran: number
  /** Runs that were put back into the queue. */
  readonly yielded: number
  /** Sessions with a run that is still queued or running. */
  readonly left: number
  /** Time at which the next work is due; null: there is none. */
  readonly nextDueAt: number | null
}

/** Result of one `sweep()`: counts of fired timers, expired sessions, started runs and deleted records. */
export interface SweepReport {
  readonly timers: number
  readonly expired: number
  /** Sessions whose inbox was checked for waiting inputs. */
  readonly started: number
  /** Deleted records. `sessions`: sessions deleted because their expiry is past the retention. */
  readonly pruned: PruneReport & { readonly sessions: number }
  readonly nextDueAt: number | null
}

/** Options of `Runtime.start()`. By default an idle runtime does not keep the process alive. */
export interface StartOptions {
  /** Keep the process alive while idle. Default false. */
  readonly keepAlive?: boolean
}

/** Result of `Runtime.start()`: the runs taken over from dead processes. */
export interface StartReport {
  /** Number of runs that were running when their owner died. */
  readonly recovered: number
  /** These runs as they are now. One that cannot go on by itself is `needs-recovery` or waits, with its open questions. */
  readonly runs: readonly RunInfo[]
}

/**
 * Owner and first settings of a session. `agent` and `owner` are compared on each call; the other fields count only when the
 * session is created.
 */
export interface SessionOptions {
  /** Fixed when the session is created. Default: the runtime's default agent. */
  readonly agent?: string
  /** Owner of the session. For callers with another owner the session is reported as missing. */
  readonly owner?: string
  /** Stored when the session is created, like all fields below. Tools get it as their `context`. */
  readonly metadata?: JSONObject
  /** Lifetime of the session. Default: the `ttl` of the runtime. */
  readonly ttl?: SessionTtl
  /** Model parameters for all runs of the session. */
  readonly runtimeParams?: RuntimeParams
  /** Selects the platform section of the prompt. */
  readonly channel?: string
  /** Tools that run outside of the runtime, for example in a browser. */
  readonly remoteTools?: readonly ToolDeclaration[]
  /**
   * Webhook that is notified about this session, in addition to the runtime's. Stored with its secret, so that each process
   * can send; no method or export returns it.
   */
  readonly notify?: Webhook
  /**
   * Messages with which a new session begins, at most 1,000. Stored in the commit that creates the session. Must be a valid
   * transcript, else `invalid-input`.
   */
  readonly history?: readonly Message[]
}
