const mostRemembered = 1_000

/** One object for each session that this process has worked for lately: what the loop remembers of a conversation hangs on it. */
export class Conversations {
  readonly #bySession = new Map<string, object>()

  of(sessionId: string): object {
    const conversation = this.#bySession.get(sessionId) ?? {}
    this.#bySession.delete(sessionId)
    this.#bySession.set(sessionId, conversation)
    const [oldest] = this.#bySession.keys()
    if (this.#bySession.size > mostRemembered && oldest !== undefined) this.#bySession.delete(oldest)
    return conversation
  }
}
