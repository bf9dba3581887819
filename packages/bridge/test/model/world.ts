import assert from 'node:assert/strict'
import type { ManualClock } from '@bowline/llm/testing'
import { inProcessExecutor } from '../../src/index.ts'
import type { Bridge, BridgeResult } from '../../src/index.ts'
import { failureOf, startBridge } from '../support.ts'
import { puppet } from './puppet.ts'
import type { Command, Puppet } from './puppet.ts'
import { SessionModel, times } from './session-model.ts'
import { Transitions } from './transitions.ts'

export type Step =
  | { readonly type: 'create'; readonly slot: number; readonly refused: boolean }
  | { readonly type: 'prompt'; readonly slot: number; readonly stubborn: boolean }
  | { readonly type: 'command'; readonly slot: number; readonly command: Command }
  | { readonly type: 'answer'; readonly slot: number; readonly known: boolean }
  | { readonly type: 'cancel' | 'close'; readonly slot: number }
  | { readonly type: 'jump'; readonly ms: number }

const maxSessions = 6
const maxInFlight = 4

interface Place {
  model: SessionModel | undefined
  /** The previous session of this place: its id, and the error that its callers get. */
  gone: { readonly sessionId: string; readonly code: 'NOT_FOUND' | 'EXPIRED' } | undefined
}

/** A bridge with places for eight sessions, next to the model of what must be true of them. */
export class World {
  readonly #bridge: Bridge
  readonly #clock: ManualClock
  readonly #puppet: Puppet
  readonly #transitions: Transitions
  readonly #places: Place[] = Array.from({ length: 8 }, () => ({ model: undefined, gone: undefined }))
  /** Work that ignores cancels. It keeps the slot of its session after the close, and its own slot if it was running. */
  #closing: { readonly until: number; readonly isRunning: boolean }[] = []
  readonly #results: Promise<BridgeResult>[] = []

  static async start(): Promise<World> {
    const actor = puppet()
    const transitions = new Transitions()
    const { ttlMs, idleMs, ...bridgeTimes } = times
    const executor = inProcessExecutor({ agents: [actor.agent], maxSessions, ttlMs, idleMs })
    const { bridge, clock } = await startBridge([], { executors: [executor], maxInFlight, onEvent: transitions.see, ...bridgeTimes })
    return new World(bridge, clock, actor, transitions)
  }

  private constructor(bridge: Bridge, clock: ManualClock, actor: Puppet, transitions: Transitions) {
    this.#bridge = bridge
    this.#clock = clock
    this.#puppet = actor
    this.#transitions = transitions
  }

  async take(step: Step): Promise<void> {
    switch (step.type) {
      case 'create':
        await this.#create(this.#place(step.slot), step.refused)
        break
      case 'prompt':
        await this.#prompt(this.#place(step.slot), step.stubborn)
        break
      case 'command':
        await this.#command(this.#place(step.slot), step.command)
        break
      case 'answer':
        await this.#answer(this.#place(step.slot), step.known)
        break
      case 'cancel':
        await this.#cancel(this.#place(step.slot))
        break
      case 'close':
        await this.#close(this.#place(step.slot))
        break
      case 'jump':
        await this.#clock.advance(step.ms)
        await this.#pass()
        break
      default: {
        const unknown: never = step
        return unknown
      }
    }
    await this.#clock.advance(0)
    await this.#compare()
  }

  #place(slot: number): Place {
    return this.#places[slot] as Place
  }

  get #live(): readonly SessionModel[] {
    return this.#places.flatMap(({ model }) => model ?? [])
  }

  async #create(place: Place, refused: boolean): Promise<void> {
    if (place.model) return
    const isFull = this.#live.length + this.#closing.length >= maxSessions
    const created = this.#bridge.createSession({ metadata: refused ? { create: 'refuse' } : {} })
    if (isFull || refused) return assert.rejects(created, { code: 'CAPACITY' })
    const { sessionId, status } = await created
    assert.equal(status, 'active')
    place.model = new SessionModel(sessionId, this.#clock.now())
  }

  async #prompt({ model, gone }: Place, stubborn: boolean): Promise<void> {
    const sessionId = model?.session.sessionId ?? gone?.sessionId ?? 'never-was'
    const run = this.#bridge.prompt({ sessionId, prompt: stubborn ? 'stubborn' : 'obedient' })
    const isFull = this.#inFlight >= maxInFlight
    const refusal = model ? (model.refusal ?? (isFull ? 'CAPACITY' : undefined)) : (gone?.code ?? 'NOT_FOUND')
    assert.equal(await run.accepted(), refusal === undefined)
    if (refusal !== undefined) return assert.equal(failureOf(await run.result()).code, refusal)
    model?.prompt(stubborn, this.#clock.now())
    this.#results.push(run.result())
  }

  async #command({ model }: Place, command: Command): Promise<void> {
    if (!model?.isListening) return
    this.#puppet.tell(model.session.sessionId, command)
    model.command(command, this.#clock.now())
    await this.#clock.advance(0)
    if (model.session.request) model.session.request.question = this.#puppet.lastQuestion
  }

  async #answer({ model }: Place, known: boolean): Promise<void> {
    if (!model) return
    const { sessionId, request } = model.session
    const isWaitedFor = known && request !== undefined && request.waiting !== 'no' && request.graceUntil === undefined
    const run = this.#bridge.prompt({ sessionId, answers: [{ id: isWaitedFor ? request.question : 'unknown', decision: 'approve' }] })
    if (isWaitedFor) model.answer(this.#clock.now())
    else assert.equal(failureOf(await run.result()).code, 'NOT_FOUND')
    this.#results.push(run.result())
  }

  async #cancel({ model }: Place): Promise<void> {
    if (!model) return
    const { sessionId, status } = model.session
    const cancelling = this.#bridge.cancel({ sessionId })
    model.stop(this.#clock.now())
    if (model.session.request) return
    const { cancelled, settled } = await cancelling
    assert.deepEqual([cancelled, settled], [status === 'busy', true])
  }

  async #close(place: Place): Promise<void> {
    const { model, gone } = place
    const sessionId = model?.session.sessionId ?? gone?.sessionId ?? 'never-was'
    const closing = this.#bridge.close({ sessionId })
    model?.stop(this.#clock.now())
    const graceUntil = model?.session.request?.graceUntil
    if (graceUntil === undefined) assert.equal((await closing).existed, model !== undefined)
    else this.#closing.push({ until: graceUntil, isRunning: model?.isRunning ?? false })
    if (model) Object.assign(place, { model: undefined, gone: { sessionId, code: 'NOT_FOUND' } })
  }

  async #pass(): Promise<void> {
    const now = this.#clock.now()
    this.#closing = this.#closing.filter(({ until }) => until > now)
    for (const place of this.#places) {
      place.model?.pass(now)
      if (!place.model?.isExpired(now)) continue
      const { sessionId } = place.model.session
      Object.assign(place, { model: undefined, gone: { sessionId, code: 'EXPIRED' } })
      await assert.rejects(this.#bridge.session(sessionId), { code: 'EXPIRED' })
    }
  }

  get #inFlight(): number {
    return [...this.#live, ...this.#closing].filter(({ isRunning }) => isRunning).length
  }

  async #compare(): Promise<void> {
    const { sessions } = await this.#bridge.sessions()
    const wanted = this.#live.map(({ session: { sessionId, status } }) => `${sessionId} ${status}`)
    assert.deepEqual(sessions.map(({ sessionId, status }) => `${sessionId} ${status}`).sort(), wanted.sort())
    for (const { sessionId, status } of sessions) assert.equal(this.#transitions.sessions.get(sessionId), status)
    assert.deepEqual(this.#transitions.illegal, [])
    const { active } = this.#bridge.health().sessions
    assert.deepEqual([active, this.#bridge.health().requests.inFlight], [wanted.length + this.#closing.length, this.#inFlight])
  }

  /** Stops the bridge and checks that everything has ended exactly once and nothing is left. */
  async end(): Promise<void> {
    const stopping = this.#bridge.stop({ deadlineMs: 20_000 })
    await this.#clock.advance(30_000)
    await stopping
    assert.deepEqual([this.#bridge.health().requests.inFlight, this.#bridge.health().sessions.active], [0, 0])
    assert.equal(this.#clock.pendingTimers, 0)
    assert.deepEqual(this.#transitions.illegal, [])
    assert.deepEqual(
      [...this.#transitions.sessions.values()].filter((status) => status !== 'over'),
      [],
    )
    assert.deepEqual(
      [...this.#puppet.sessions].filter(([, ends]) => ends.length !== 1),
      [],
    )
    assert.equal((await Promise.all(this.#results)).length, this.#results.length)
  }
}
