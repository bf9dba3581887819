import { isEnded } from '@bowline/agent-loop/events'
import { SessionError } from '../../errors.ts'
import type { Expect, NewEntry, NewSession, Write } from '../../contract/batch.ts'
import { publishOwn } from '../queued-run.ts'
import { busyError } from './change-idle.ts'
import type { SessionContext } from '../context.ts'
import { beginPartialCopy, endPartialCopy, partialCopyMark, isAbandonedCopy, removePartialCopy } from './partial-copy.ts'

const mostEntries = 200
const mostCharacters = 1024 * 1024

export type CopiedSession = Omit<NewSession, 'id' | 'at' | 'parent'> & { readonly key: string }

/**
 * Creates a session from entries of another source, in commits of bounded size. If one commit is enough, it creates the whole
 * session. Otherwise the session is marked as a partial copy, which handles and lists treat as missing, until the last commit
 * removes the mark.
 */
export class SessionCopy {
  readonly #context: SessionContext
  readonly #session: CopiedSession
  readonly #id: string
  #entries: NewEntry[] = []
  #characters = 0
  #begun = false

  constructor(context: SessionContext, session: CopiedSession) {
    this.#context = context
    this.#session = session
    this.#id = context.ids.next('session')
  }

  /** Adds an entry. Parents must come before their children. */
  async add(entry: NewEntry): Promise<void> {
    this.#entries.push(entry)
    this.#characters += JSON.stringify(entry).length
    if (this.#entries.length >= mostEntries || this.#characters >= mostCharacters) await this.#store([])
  }

  /** Completes the session and makes it visible. */
  async finish(leaf: string | null): Promise<void> {
    const { key, metadata } = this.#session
    const at = this.#context.clock.now()
    const start = { type: 'session-start', at, sessionKey: key, copied: true } as const
    const last: readonly Write[] = [
      { op: 'session.patch', patch: { leaf, metadata } },
      { op: 'event.append', events: [{ event: start }] },
    ]
    const result = await this.#store(last)
    endPartialCopy(this.#id)
    publishOwn(this.#context, key, result, [start])
  }

  /** Removes a copy that failed. */
  async abandon(): Promise<void> {
    try {
      if (this.#begun) await removePartialCopy(this.#context, { key: this.#session.key, id: this.#id })
    } finally {
      endPartialCopy(this.#id)
    }
  }

  async #store(last: readonly Write[]) {
    const entries: readonly Write[] = this.#entries.length > 0 ? [{ op: 'entry.append', entries: this.#entries }] : []
    const result = this.#begun ? await this.#commit([...entries, ...last]) : await this.#create([...entries, ...last])
    this.#entries = []
    this.#characters = 0
    return result
  }

  /** Creates the session. Replaces a partial copy under the key whose process is dead. */
  async #create(writes: readonly Write[]) {
    const { key, ...session } = this.#session
    const ensure: Write = {
      op: 'session.ensure',
      session: { ...session, metadata: partialCopyMark, id: this.#id, at: this.#context.clock.now() },
    }
    beginPartialCopy(this.#id)
    this.#begun = true
    const result = await this.#try([ensure, ...writes], [{ that: 'session', id: null }])
    if (result.ok) return result
    const { store } = this.#context
    const other = await store.readSession(key)
    if ('value' in other && isAbandonedCopy(this.#context, other.value)) {
      await removePartialCopy(this.#context, other.value)
      const again = await this.#try([ensure, ...writes], [{ that: 'session', id: null }])
      if (again.ok) return again
    }
    if ('value' in other && other.value.status && !isEnded(other.value.status)) throw await busyError(this.#context, key)
    throw new SessionError('conflict', `The session ${key} already exists. Choose another key for the copy.`)
  }

  async #commit(writes: readonly Write[]) {
    const result = await this.#try(writes, [{ that: 'session', id: this.#id }])
    if (result.ok) return result
    throw new SessionError('conflict', `The store refused an entry of the copy ${this.#session.key}: ${result.reason}.`)
  }

  #try(writes: readonly Write[], expect: readonly Expect[]) {
    const { store, ids } = this.#context
    return store.commit({ id: ids.next('batch'), key: this.#session.key, expect, writes })
  }
}

/** Copies a session with `work`. If it fails, nothing remains. */
export async function copySession(
  context: SessionContext,
  session: CopiedSession,
  work: (copy: SessionCopy) => Promise<string | null>,
): Promise<void> {
  const copy = new SessionCopy(context, session)
  try {
    await copy.finish(await work(copy))
  } catch (error) {
    // The reason of the failure matters more than a failed removal: the next runtime that starts removes the rest.
    await copy.abandon().catch(() => undefined)
    throw error
  }
}
