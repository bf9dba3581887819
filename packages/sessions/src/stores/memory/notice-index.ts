import { receiverOf } from '../../contract/notices.ts'
import type { HeldSession } from './held-session.ts'
import { TimeOrder } from './time-order.ts'

/** Sessions with a due notice for one receiver, by the time of the first. */
export interface NoticeLine {
  readonly hook: string
  readonly sessions: TimeOrder<HeldSession>
}

/** Due notices by receiver, so that a claim does not pass over those of other receivers. */
export class NoticeIndex {
  /** By receiver, in the order of their first due time. */
  readonly lines = new TimeOrder<NoticeLine>()
  /** Receivers of each session. */
  readonly #receivers = new Map<string, readonly string[]>()

  /** Must be called after each change of a session. Undefined means that the key has no session. */
  update(key: string, held: HeldSession | undefined): void {
    const firsts = new Map<string, { readonly hook: string; readonly at: number }>()
    for (const { hook, dueAt = Infinity } of held?.dueNotices.values() ?? []) {
      const receiver = receiverOf(hook, held?.record.settings.notify)
      firsts.set(receiver, { hook, at: Math.min(dueAt, firsts.get(receiver)?.at ?? Infinity) })
    }
    for (const receiver of this.#receivers.get(key) ?? []) {
      const line = this.lines.get(receiver)
      if (line && !firsts.has(receiver)) line.sessions.delete(key)
      if (line) this.lines.set(receiver, line.sessions.first, line)
    }
    for (const [receiver, { hook, at }] of firsts) {
      const line = this.lines.get(receiver) ?? { hook, sessions: new TimeOrder() }
      if (held) line.sessions.set(key, at, held)
      this.lines.set(receiver, line.sessions.first, line)
    }
    if (firsts.size > 0) this.#receivers.set(key, [...firsts.keys()])
    else this.#receivers.delete(key)
  }

  *sessions(): Iterable<HeldSession> {
    for (const { sessions } of this.lines.values()) yield* sessions.values()
  }
}
