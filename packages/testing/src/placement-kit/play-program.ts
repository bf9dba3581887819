import { systemClock } from '@bowline/llm'
import { createRuntime, SessionError } from '@bowline/sessions'
import type { Runtime, Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { CrashProcess } from '../crash-kit/crash-process.ts'
import { isAtRest, readPendingWork, startsRun } from '../crash-kit/read-end.ts'
import { answerQuestions } from '../crash-kit/scenario-parts.ts'
import { Scene, type SceneTime } from '../crash-kit/scene.ts'
import { nameOfError, startRuntime } from '../crash-kit/start-runtime.ts'
import { watchedAgents } from '../crash-kit/watched-agents.ts'
import { watchedRuntime } from '../crash-kit/watched-runtime.ts'
import { watchedStore } from '../crash-kit/watched-store.ts'
import { ProgramTime } from '../program-time.ts'
import { castOf, textOf } from './cast.ts'
import type { PlacementProgram, PlacementStep } from './draw-program.ts'
import type { PlacementEnd } from './invariants.ts'
import type { PlacementHost, PlacementKitOptions, PlacementWorker } from './types.ts'

type PlayOptions = Pick<PlacementKitOptions, 'host' | 'store' | 'time' | 'withinMs'>

interface Worker {
  readonly process: CrashProcess
  readonly runtime: Runtime
  readonly hosted: PlacementWorker
  readonly release: () => Promise<void>
  /** Resolves when the worker is disturbed: its clients get no answer. */
  readonly struck: Promise<void>
  readonly strike: () => void
}

/** Times in ms of the simulated clock. In real time all are divided by `haste`. */
const stepMs = 250
const leaseMs = 10_000
const sweepMs = 2_000
const freezeMs = 15_000
/** Longest time for which a client waits for calls to the store. */
const patienceMs = 1_000
/** Limits for one answer to a client, and for all work of a program to end. */
const mostAnswerMs = 60_000
const mostRestMs = 300_000
const haste = 5
const mostRounds = 40

const systemTime: SceneTime = { clock: systemClock, pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) }

/** Plays one program over a host until all its work is done. */
export async function playProgram(
  program: PlacementProgram,
  options: PlayOptions,
): Promise<{ end: PlacementEnd; trace: readonly string[] }> {
  const { mode, targets, seed } = program
  const time: SceneTime = options.time === 'simulated' ? new ProgramTime() : systemTime
  const scene = new Scene((await options.store?.()) ?? memoryStore(), { mode, targets }, [], seed, time)
  const name = `program-${seed}`
  await scene.store.open({ namespace: 'placement', clock: scene.clock, owner: 'kit', placement: 'host' })
  const host = await options.host({ clock: scene.clock, program: name })
  const play = new Play(program, { ...options, name, scene, host })
  try {
    return { end: await play.play(), trace: scene.trace }
  } finally {
    await play.clear()
    await scene.store.close()
  }
}

interface PlayParts extends Pick<PlayOptions, 'time' | 'withinMs'> {
  readonly name: string
  readonly scene: Scene
  readonly host: PlacementHost
}

class Play {
  readonly #program: PlacementProgram
  readonly #parts: PlayParts
  readonly #scene: Scene
  #workers: Worker[] = []
  readonly #all: Worker[] = []
  readonly #disturbed = new Set<string>()
  readonly #notBefore = new Map<string, number>()
  readonly #surprises: string[] = []
  readonly #lateWork = new Set<string>()
  /** Due work that has not begun, with the time since when. */
  #due = new Map<string, number>()
  #disturbedAt = -Infinity
  /** Time of the next sweep. A worker that dies between a commit and its acknowledgement tells no host. */
  #sweepAt = Infinity

  constructor(program: PlacementProgram, parts: PlayParts) {
    this.#program = program
    this.#parts = parts
    this.#scene = parts.scene
    this.#scene.onTakeover = () => this.#wakeFrozen()
  }

  async play(): Promise<PlacementEnd> {
    const stuck = await this.#perform().then(
      (isDone) => (isDone ? undefined : 'the work of the program does not end'),
      (error: unknown) => nameOfError(error),
    )
    return {
      ...(await this.#scene.look(stuck)),
      hastyClaims: this.#scene.hastyClaims,
      lateWork: [...this.#lateWork],
      surprises: this.#surprises,
      disturbed: this.#disturbed,
      notBefore: this.#notBefore,
    }
  }

  async #perform(): Promise<boolean> {
    for (let worker = 0; worker < this.#program.workers; worker++) await this.#addWorker()
    for (const step of this.#program.steps) await this.#do(step)
    for (let round = 0; round < mostRounds; round++) {
      if (!(await this.#rest())) return false
      const sessions = await readPendingWork(this.#scene.store)
      if (sessions.every(({ runs }) => runs.every(({ endedAt }) => endedAt !== undefined))) return true
      for (const room of [1, 2, 3]) await this.#ask({ do: 'answer', room, afterCalls: 0 })
    }
    return false
  }

  /** Stops the host and all processes, whatever they are doing. */
  async clear(): Promise<void> {
    this.#wakeFrozen()
    const alive = this.#all.filter(({ process }) => process.state !== 'dead')
    const ends = [this.#parts.host.stop(), ...alive.map(({ runtime }) => runtime.stop({ graceMs: 0 }))]
    await this.#until(Promise.allSettled(ends)).catch(() => undefined)
    for (const { process } of this.#all) process.kill()
  }

  async #do(step: PlacementStep): Promise<void> {
    this.#scene.trace.push(`${this.#scene.clock.now()} ms ${JSON.stringify(step)}`)
    const { host } = this.#parts
    switch (step.do) {
      case 'wait':
        return this.#pass(this.#lasting(step.ms))
      case 'add-worker':
        return this.#addWorker()
      case 'stop-worker':
        return this.#stopWorker()
      case 'restart':
        if (!host.restart) return
        this.#noteDisturbance(true)
        return this.#until(host.restart())
      default:
        return this.#ask(step)
    }
  }

  /** Has a client ask one of the workers. If that is disturbed, the client asks another one. */
  async #ask(step: Extract<PlacementStep, { readonly room: number }>): Promise<void> {
    // Clients act while workers are at work.
    if (step.afterCalls > 0) await this.#until(Promise.race([this.#scene.afterCalls(step.afterCalls), this.#sleep(patienceMs)]))
    const inMs = 'inMs' in step ? this.#lasting(step.inMs) : 0
    const atMs = this.#scene.clock.now() + inMs
    for (let tries = 0; tries < mostRounds; tries++) {
      const { runtime, struck } = this.#oneOf(this.#workers)
      const session = watchedRuntime(this.#scene, runtime).session(`${this.#parts.name}:room-${step.room}`)
      const answer = this.#askSession(session, step, atMs).catch((error: unknown) => this.#hear(error, step))
      const told = await this.#until(Promise.race([answer.then(() => 'answer'), struck]))
      if (told === 'answer') return
    }
  }

  async #askSession(session: Session, step: Extract<PlacementStep, { readonly room: number }>, atMs: number): Promise<void> {
    switch (step.do) {
      case 'stop':
        await session.stop()
        return
      case 'answer': {
        const run = (await session.info())?.openRun
        return run && answerQuestions(session, run)
      }
      case 'schedule':
        await session.schedule({ id: step.id, at: atMs, input: textOf(step.id, step.plan) })
        return
      case 'steer':
        await session.steer(textOf(step.id, step.plan), { id: step.id })
        return
      case 'send': {
        if (step.inMs > 0) this.#notBefore.set(`${session.key} ${step.id}`, atMs)
        const send = () => session.send(textOf(step.id, step.plan), { id: step.id, ...(step.inMs > 0 && { notBefore: atMs }) })
        await Promise.all([send(), send()])
      }
    }
  }

  /** Refusals are answers: a question may have been answered, its run may have ended, or the time of a schedule has passed. */
  #hear(error: unknown, step: PlacementStep): void {
    this.#scene.trace.push(`${this.#scene.clock.now()} ms refused: ${nameOfError(error)}`)
    const isInput = step.do === 'send' || step.do === 'steer'
    const isRefusal = !isInput && SessionError.isInstance(error) && error.code !== 'store-corrupt'
    if (!isRefusal) this.#surprises.push(`${step.do}: ${nameOfError(error)}`)
  }

  async #addWorker(): Promise<void> {
    const { host, time } = this.#parts
    const process = new CrashProcess(`worker-${this.#all.length + 1}`, this.#scene.clock)
    const { store, release } = watchedStore(this.#scene, process)
    const { promise: struck, resolve: strike } = Promise.withResolvers<void>()
    const runtime = createRuntime({
      agents: watchedAgents(
        this.#scene,
        process,
        castOf({ world: this.#scene.world.of(process), clock: process.clock, lasting: (ms) => this.#lasting(ms) }),
      ),
      store,
      namespace: 'placement',
      placement: 'host',
      // The kit sweeps where a wake may be lost, so that others are missed.
      timers: false,
      lease: { ttlMs: this.#lasting(leaseMs), heartbeatMs: this.#lasting(leaseMs) * 0.3 },
      clock: process.clock,
      ...(time === 'simulated' && { ids: this.#scene.ids }),
      onError: (error, { during }) => this.#scene.log(process, `fault during ${during}: ${nameOfError(error)}`),
    })
    const hosted = await this.#until(Promise.resolve(host.addWorker(runtime)))
    const worker = { process, runtime, hosted, release, struck, strike }
    this.#all.push(worker)
    this.#workers.push(worker)
    this.#scene.watched ??= process
    await this.#until(Promise.race([startRuntime(runtime), struck]))
  }

  /** Stops a worker in order, if another one is left. */
  async #stopWorker(): Promise<void> {
    if (this.#workers.length < 2) return
    const worker = this.#oneOf(this.#workers)
    this.#leave(worker)
    this.#noteDisturbance(false)
    await this.#until(Promise.resolve(worker.hosted.stop()))
    await this.#until(Promise.race([worker.runtime.stop(), worker.struck]))
    worker.process.kill()
  }

  /** Tells the host that the watched worker is dead or frozen. Another worker is watched from now on. */
  async #loseStruck(): Promise<void> {
    this.#scene.isStruck = false
    const worker = this.#all.find(({ process }) => process === this.#scene.watched)
    if (!worker) return
    this.#scene.watched = undefined
    this.#disturbed.add(worker.process.name)
    const point = this.#scene.counter.lives.at(-2)?.at(-1)
    this.#noteDisturbance(this.#parts.time !== 'simulated' || point?.kind === 'after-commit')
    this.#leave(worker)
    worker.strike()
    if (worker.process.state === 'dead') await worker.release()
    else this.#scene.clock.setTimer(this.#scene.clock.now() + this.#lasting(freezeMs), () => this.#wakeFrozen())
    await this.#until(Promise.resolve(worker.hosted.kill()))
    if (this.#workers.length === 0 || this.#scene.random() < 0.5) await this.#addWorker()
  }

  #leave(worker: Worker): void {
    this.#workers = this.#workers.filter((each) => each !== worker)
    if (this.#scene.watched === worker.process || this.#scene.watched === undefined) this.#scene.watched = this.#workers[0]?.process
  }

  #noteDisturbance(mayLoseWakes: boolean): void {
    this.#disturbedAt = this.#scene.clock.now()
    if (mayLoseWakes) this.#sweepAt = Math.min(this.#sweepAt, this.#disturbedAt + this.#lasting(sweepMs))
  }

  #wakeFrozen(): void {
    for (const { process } of this.#all) if (process.state === 'stopped') process.wake()
  }

  /** Lets time pass until nothing is left to do. Returns false if that takes too long. */
  async #rest(): Promise<boolean> {
    const { store, clock } = this.#scene
    const until = clock.now() + this.#lasting(mostRestMs)
    while (clock.now() < until && this.#lateWork.size === 0) {
      if ((await isAtRest(store)) && (await store.due(0)).nextAt === null) return true
      await this.#pass(this.#lasting(stepMs))
    }
    return false
  }

  async #until<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const ended = promise.finally(() => (isDone = true))
    ended.catch(() => undefined)
    const until = this.#scene.clock.now() + this.#lasting(mostAnswerMs)
    await this.#pass(0)
    while (!isDone) {
      if (this.#scene.clock.now() > until) throw new Error(`no answer within ${this.#lasting(mostAnswerMs)} ms`)
      await this.#pass(this.#lasting(stepMs))
    }
    return ended
  }

  async #pass(ms: number): Promise<void> {
    const until = this.#scene.clock.now() + ms
    do {
      await this.#scene.pass(Math.min(until - this.#scene.clock.now(), this.#lasting(stepMs)))
      for (const { process } of this.#all) process.finishWaking()
      if (this.#scene.isStruck) await this.#loseStruck()
      await this.#lookAtDueWork()
      this.#sweep()
    } while (this.#scene.clock.now() < until)
  }

  #sweep(): void {
    const now = this.#scene.clock.now()
    const [worker] = this.#workers
    if (now < this.#sweepAt || !worker) return
    this.#sweepAt = now + this.#lasting(sweepMs)
    worker.runtime.sweep().catch((error: unknown) => this.#surprises.push(`sweep: ${nameOfError(error)}`))
  }

  /** Notes work that is due for longer than the host may take. */
  async #lookAtDueWork(): Promise<void> {
    const { store, clock } = this.#scene
    const now = clock.now()
    const [{ timers, unread }, { items: runs }] = await Promise.all([store.due(100), store.listClaimable()])
    const starting = await Promise.all(unread.map(async (key) => ((await startsRun(store, key)) ? [key] : [])))
    const due = [...timers.map(({ id }) => `the timer ${id}`), ...[...starting.flat(), ...runs].map((key) => `the work in ${key}`)]
    this.#due = new Map(due.map((what) => [what, this.#due.get(what) ?? now]))
    const { withinMs = 5_000 } = this.#parts
    const limit = withinMs + (this.#disturbedAt === -Infinity ? 0 : this.#lasting(leaseMs + sweepMs))
    for (const [what, since] of this.#due) {
      const sinceMs = now - Math.max(since, this.#disturbedAt)
      if (sinceMs > limit) this.#lateWork.add(`${what} is due since ${since} ms, and has not begun within ${limit} ms`)
    }
  }

  #sleep(ms: number): Promise<void> {
    const { clock } = this.#scene
    return new Promise((resolve) => void clock.setTimer(clock.now() + this.#lasting(ms), resolve))
  }

  #lasting(ms: number): number {
    return this.#parts.time === 'simulated' ? ms : Math.ceil(ms / haste)
  }

  #oneOf<T>(list: readonly T[]): T {
    return list[Math.floor(this.#scene.random() * list.length)] as T
  }
}
