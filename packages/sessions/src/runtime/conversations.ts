const mostRemembered = 1_000

/** One object for each session that this process has worked for lately: what the loop remembers of a conversation hangs on it. */
export class Conversations {
  readonly #bySession = new Map<string, object>()

  of(sessionId: string): object {
    const conversation = this.#bySession.get(sessionId) ?? {}
    this.#bySession.delete(sessionId)
    this.#bySession.set(sessionId, conversation)
    if (this.#bySession.size > mostRemembered) for (const oldest of this.#bySession.keys()) return this.#forget(oldest, conversation)
    return conversation
  }

  #forget(sessionId: string, used: object): object {
    this.#bySession.delete(sessionId)
    return used
  }
}
