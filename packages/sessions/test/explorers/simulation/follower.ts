import { isDelta } from '@bowline/agent-loop/events'
import { parseCursor } from '../../../src/contract/cursor.ts'
import type { LoggedEvent } from '../../../src/contract/log-events.ts'
import { SessionError } from '../../../src/errors.ts'
import { nameOfError } from '../../../../testing/src/crash-kit/start-runtime.ts'
import type { Cluster, Living } from './cluster.ts'
import type { FollowerEnd } from './simulation-end.ts'
import type { SimulationSession, SimulationStep } from './simulation.ts'

/** Time in ms for which a reader waits before it asks another process. */
const pauseMs = 300

/** A client that follows a session at one process, and continues at another one after the last event it has seen. */
export class Follower implements FollowerEnd {
  readonly session: SimulationSession
  readonly events: LoggedEvent[] = []
  readonly problems: string[] = []
  readonly #cluster: Cluster
  readonly #name: string
  /** Text so far of the message that is not complete. */
  #open: { readonly messageId: string; text: string } | undefined
  /** Ids of messages that are complete or were discarded. */
  readonly #closed = new Set<string>()

  constructor(cluster: Cluster, { to, at }: SimulationStep, number: number) {
    this.#cluster = cluster
    this.session = to
    this.#name = `reader-${number}`
    void this.#follow(at)
  }

  /** Number of the newest stored event that it has seen. */
  get seq(): number {
    const last = this.events.at(-1)
    return last ? parseCursor(last.cursor).seq : 0
  }

  async #follow(first: number): Promise<void> {
    const { time } = this.#cluster
    for (let at = first; ; at++) {
      const living = this.#cluster.at(at)
      await Promise.race([this.#readAt(living), living.death])
      await new Promise<void>((resolve) => time.clock.setTimer(time.now + pauseMs, resolve))
    }
  }

  async #readAt({ process, unrecorded }: Living): Promise<void> {
    const cursor = this.events.at(-1)?.cursor
    try {
      for await (const event of unrecorded.session(this.session).events(cursor === undefined ? {} : { cursor })) {
        if (process.state === 'dead') return
        this.#cluster.log(this.#name, `sees ${event.cursor} ${event.type} at ${process.name}`)
        this.#see(event)
        this.events.push(event)
      }
    } catch (error) {
      if (SessionError.isInstance(error) && (error.retryable || error.code === 'session-missing')) return
      this.problems.push(nameOfError(error))
    }
  }

  #see(event: LoggedEvent): void {
    const before = this.events.at(-1)
    if (before && !isAfter(event, before))
      this.problems.push(`${event.type} has the cursor ${event.cursor}, expected one after ${before.cursor}`)
    if (isDelta(event)) return this.#seeDelta(event)
    if (event.type !== 'message-end' && event.type !== 'message-discarded') return
    const { messageId } = event
    const open = this.#open?.messageId === messageId ? this.#open.text : ''
    if (event.type === 'message-end' && !textOf(event).startsWith(open))
      this.problems.push(
        `the deltas of the message ${messageId} give ${JSON.stringify(open)}, expected the beginning of ${JSON.stringify(textOf(event))}`,
      )
    this.#closed.add(messageId)
  }

  #seeDelta(event: LoggedEvent): void {
    if (event.type !== 'text-delta') return
    const { messageId, delta } = event
    if (this.#closed.has(messageId))
      this.problems.push(`the delta ${JSON.stringify(delta)} of the message ${messageId} comes after the end of that message`)
    if (this.#open?.messageId !== messageId) this.#open = { messageId, text: '' }
    this.#open.text += delta
  }
}

function isAfter(event: LoggedEvent, before: LoggedEvent): boolean {
  const [here, there] = [parseCursor(event.cursor), parseCursor(before.cursor)]
  return here.seq > there.seq || (here.seq === there.seq && here.n > there.n)
}

function textOf(event: Extract<LoggedEvent, { readonly type: 'message-end' }>): string {
  const { content } = event.message
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
