import type { AbortCause, Agent, AgentInput, IdSource, SubmittedResult } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { storeJournal } from '../journal/store-journal.ts'
import type { LiveLog } from '../log/live-log.ts'
import type { Claim, Lease, SessionStore } from '../store/contract.ts'
import type { InboxRecord, StopRequest } from '../store/records.ts'
import { endLostRun, giveBack } from './recover.ts'
import type { ErrorContext, RuntimeOptions } from './types.ts'

export interface ClaimLoopOptions
  extends Pick<RuntimeOptions, 'concurrency' | 'lease' | 'attempts' | 'onUnknownOutcome'> {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
  readonly ids: IdSource
  readonly agents: ReadonlyMap<string, Agent>
  readonly owner: string
  readonly onError: (error: unknown, where: ErrorContext) => void
}

interface ActiveRun {
  readonly lease: Lease
  readonly abort: AbortController
  readonly done: Promise<void>
}

/** Claims runs while there are free slots, executes them, and keeps their leases. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  readonly #concurrency: number
  readonly #leaseMs: number
  readonly #heartbeatMs: number
  readonly #active = new Map<string, ActiveRun>()
  #state: 'new' | 'running' | 'stopping' = 'new'
  /** One pass at a time; a wake during a pass asks for one more. */
  #pass: Promise<number> | undefined
  #again = false
  #cancelHeartbeat: (() => void) | undefined

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    this.#concurrency = options.concurrency ?? 32
    this.#leaseMs = options.lease?.ttlMs ?? 10_000
    this.#heartbeatMs = options.lease?.heartbeatMs ?? 3_000
  }

  /** Resolves with how many runs of a dead owner were taken up. */
  async start(): Promise<number> {
    this.#state = 'running'
    this.#scheduleHeartbeat()
    return this.#claimAll()
  }

  /** The runs leave at once and go back into the queue; tools have `graceMs` to settle. */
  async stop(graceMs: number): Promise<void> {
    this.#state = 'stopping'
    this.#cancelHeartbeat?.()
    await this.#pass?.catch(() => undefined)
    for (const run of this.#active.values()) run.abort.abort({ kind: 'yield' } satisfies AbortCause)
    const { clock } = this.#options
    const { promise: graceOver, resolve } = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + graceMs, resolve)
    await Promise.race([Promise.all([...this.#active.values()].map((run) => run.done)), graceOver])
    cancel()
  }

  wake(): void {
    if (this.#state !== 'running') return
    this.#claimAll().catch((error: unknown) => this.#options.onError(error, { during: 'claim' }))
  }

  abort(runId: string, request: StopRequest): void {
    this.#active.get(runId)?.abort.abort(stopCause(request))
  }

  async #claimAll(): Promise<number> {
    if (this.#pass) {
      this.#again = true
      return this.#pass
    }
    this.#pass = this.#claimPasses()
    try {
      return await this.#pass
    } finally {
      this.#pass = undefined
    }
  }

  async #claimPasses(): Promise<number> {
    let recovered = 0
    do {
      this.#again = false
      const free = this.#concurrency - this.#active.size
      if (this.#state !== 'running' || free <= 0) break
      const { store, owner, agents } = this.#options
      const claims = await store.claim({ owner, max: free, leaseMs: this.#leaseMs, agents: [...agents.keys()] })
      for (const claim of claims) {
        if (claim.previous === 'running') recovered++
        this.#begin(claim)
      }
    } while (this.#again)
    return recovered
  }

  #begin(claim: Claim): void {
    const { run } = claim
    const abort = new AbortController()
    const letGo = this.#options.live.hold(run.session)
    const done = this.#execute(claim, abort.signal)
      .catch((error: unknown) => this.#options.onError(error, { during: 'run', runId: run.id, session: run.session }))
      .finally(() => {
        this.#active.delete(run.id)
        letGo()
        this.wake()
      })
    this.#active.set(run.id, { lease: { runId: run.id, epoch: run.epoch }, abort, done })
    if (run.stop) abort.abort(stopCause(run.stop))
  }

  async #execute(claim: Claim, abortSignal: AbortSignal): Promise<void> {
    const { store, live, ids, clock, agents, attempts, onUnknownOutcome } = this.#options
    const { run, session } = claim
    const agent = agents.get(session.agent)
    const lost = run.attempts > (attempts?.withoutProgress ?? 5) || run.totalAttempts > (attempts?.total ?? 25)
    if (!agent || lost) {
      const message = `The run was lost ${run.totalAttempts} times, ${run.attempts} of them without progress.`
      return endLostRun(this.#options, claim, { reason: 'crash-loop', error: { code: 'crash-loop', message } })
    }
    const answers = run.turn === undefined ? [] : await store.readInbox(session.key, ['answer'])
    const own = answers.filter((row) => row.id.startsWith(`answer:${run.id}:`))
    const execution = agent.run(inputOf(claim, own), {
      journal: storeJournal({ store, live, ids, claim, answers: own, abortSignal }),
      runId: run.id,
      sessionKey: session.key,
      context: session.metadata,
      clock,
      ids,
      ...(run.inputId === undefined ? {} : { source: 'user' }),
      ...(onUnknownOutcome ? { onUnknownOutcome } : {}),
    })
    const result = await execution.result()
    if (result.reason === 'yielded') return giveBack(this.#options, claim)
    // The loop ends every turn itself, unless it could not write or had nothing it could run.
    if (result.reason === 'journal-error' || result.reason === 'refused') {
      await endLostRun(this.#options, claim, {
        reason: result.reason,
        error: result.error ?? { code: 'store-unavailable', message: 'The run could not be written.' },
      })
    }
  }

  #scheduleHeartbeat(): void {
    const { clock } = this.#options
    this.#cancelHeartbeat = clock.setTimer(clock.now() + this.#heartbeatMs, () => {
      this.#heartbeat()
        .catch((error: unknown) => this.#options.onError(error, { during: 'heartbeat' }))
        .finally(() => {
          if (this.#state === 'running') this.#scheduleHeartbeat()
        })
    })
  }

  /** Renews the leases, carries out what was asked elsewhere, and looks for work that nobody announced. */
  async #heartbeat(): Promise<void> {
    const leases = [...this.#active.values()].map((run) => run.lease)
    const states = leases.length === 0 ? [] : await this.#options.store.renew(leases, this.#leaseMs)
    for (const { runId, held, stopping } of states) {
      const run = this.#active.get(runId)
      if (!held) run?.abort.abort({ kind: 'fenced' } satisfies AbortCause)
      else if (stopping) run?.abort.abort(stopCause(stopping))
    }
    await this.#claimAll()
  }
}

function stopCause(request: StopRequest): AbortCause {
  return { kind: 'stop', ...(request.reason === undefined ? {} : { reason: request.reason }) }
}

/** A run that has not begun takes its input; one that was begun goes on, with the answers that came for it. */
function inputOf({ run }: Claim, answers: readonly InboxRecord[]): AgentInput | undefined {
  if (run.turn === undefined) return run.input as unknown as AgentInput
  if (answers.length === 0 || run.stop) return undefined
  return { toolResults: answers.map((row) => row.body.answer as unknown as SubmittedResult) }
}
