import type { Command } from './puppet.ts'

export const times = { ttlMs: 200_000, idleMs: 50_000, timeoutMs: 90_000, inactivityMs: 30_000, cancelGraceMs: 5000 }

/** Expected state of a session, in the simplest form. */
export interface ModelSession {
  readonly sessionId: string
  readonly createdAt: number
  idleSince: number
  status: 'active' | 'busy' | 'idle' | 'failed'
  request: ModelRequest | undefined
}

interface ModelRequest {
  readonly stubborn: boolean
  readonly deadlineAt: number
  /** Time of its last output. */
  activeAt: number
  waiting: 'no' | 'hold' | 'ask'
  question: string
  /** Set if it was told to stop and ignores that: time until which the bridge waits for it. */
  graceUntil: number | undefined
}

/** Expected behaviour of one session, as its caller sees it, including its expiry. */
export class SessionModel {
  readonly session: ModelSession

  constructor(sessionId: string, now: number) {
    this.session = { sessionId, createdAt: now, idleSince: now, status: 'active', request: undefined }
  }

  get isRunning(): boolean {
    return this.session.request?.waiting === 'no'
  }

  /** Error code that a prompt would get now; undefined if it is accepted. */
  get refusal(): 'BUSY' | 'UPSTREAM' | undefined {
    const { status } = this.session
    return status === 'busy' ? 'BUSY' : status === 'failed' ? 'UPSTREAM' : undefined
  }

  prompt(stubborn: boolean, now: number): void {
    this.session.status = 'busy'
    this.session.request = {
      stubborn,
      deadlineAt: now + times.timeoutMs,
      activeAt: now,
      waiting: 'no',
      question: '',
      graceUntil: undefined,
    }
  }

  /** Whether its agent takes a command now. */
  get isListening(): boolean {
    const { request } = this.session
    return request?.waiting === 'no' && request.graceUntil === undefined
  }

  command(command: Command, now: number): void {
    const { request } = this.session
    if (!request) return
    request.activeAt = now
    if (command === 'hold' || command === 'ask') request.waiting = command
    else if (command === 'finish' || command === 'fail') this.#end('idle', now)
    else if (command === 'break') this.#end('failed', now)
  }

  answer(now: number): void {
    const { request } = this.session
    if (!request) return
    Object.assign(request, { waiting: 'no', activeAt: now })
  }

  /** Stops the running request. It ends at once unless it is stubborn. */
  stop(now: number): void {
    const { request } = this.session
    if (!request || request.graceUntil !== undefined) return
    if (request.stubborn && request.waiting !== 'ask') request.graceUntil = now + times.cancelGraceMs
    else this.#end('idle', now)
  }

  /** Applies all limits that have passed by `now`. */
  pass(now: number): void {
    const { request } = this.session
    if (!request) return
    if (request.graceUntil === undefined) {
      const quietAt = request.waiting === 'no' ? request.activeAt + times.inactivityMs : Number.POSITIVE_INFINITY
      const firesAt = Math.min(request.deadlineAt, quietAt)
      if (firesAt <= now) this.stop(firesAt)
    }
    if (request.graceUntil !== undefined && request.graceUntil <= now) this.#end('failed', request.graceUntil)
  }

  isExpired(now: number): boolean {
    const { status, createdAt, idleSince } = this.session
    return status !== 'busy' && now > Math.min(createdAt + times.ttlMs, idleSince + times.idleMs)
  }

  #end(status: 'idle' | 'failed', now: number): void {
    Object.assign(this.session, { status, request: undefined, idleSince: now })
  }
}
