import { receiverOf } from '../../contract/notices.ts'
import type { HeldSession } from './held-session.ts'
import { TimeOrder } from './time-order.ts'

/** Sessions with a due notice for one receiver, by the time of the first. */
export interface NoticeLine {
  readonly receiver: string
  readonly hook: string
  readonly sessions: TimeOrder<HeldSession>
}

/** Due notices by receiver, so that a claim does not pass over those of other receivers. */
export class NoticeIndex {
  readonly #lines = new Map<string, NoticeLine>()
  /** The lines of each session. */
  readonly #linesOf = new Map<string, readonly NoticeLine[]>()

  /** The receivers in the order of their first due time. */
  get lines(): readonly NoticeLine[] {
    return [...this.#lines.values()].sort((a, b) => a.sessions.first - b.sessions.first)
  }

  /** Must be called after each change of a session. Undefined means that the key has no session. */
  update(key: string, held: HeldSession | undefined): void {
    const after = new Map<NoticeLine, number>()
    for (const { hook, dueAt = Infinity } of held?.dueNotices.values() ?? []) {
      const receiver = receiverOf(hook, held?.record.settings.notify)
      const line = this.#lines.get(receiver) ?? { receiver, hook, sessions: new TimeOrder() }
      this.#lines.set(receiver, line)
      after.set(line, Math.min(dueAt, after.get(line) ?? Infinity))
    }
    for (const line of [...(this.#linesOf.get(key) ?? []), ...after.keys()]) {
      line.sessions.set(key, after.get(line), held)
      if (line.sessions.first === Infinity) this.#lines.delete(line.receiver)
    }
    if (after.size > 0) this.#linesOf.set(key, [...after.keys()])
    else this.#linesOf.delete(key)
  }
}
