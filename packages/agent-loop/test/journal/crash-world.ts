import type { JSONValue } from '@bowline/llm'
import { createMemoryJournal } from '../../src/index.ts'
import type { AgentEvent, IdSource, Journal, MemoryJournal, QueuedInput, ToolContext } from '../../src/index.ts'
import { crashingJournal, fakeIds, recordingJournal } from '@bowline/testing'
import type { CrashingJournal, CrashPoint, RecordingJournal } from '@bowline/testing'
import { watchedClock } from '../fuzz/watched-clock.ts'
import type { WatchedClock } from '../fuzz/watched-clock.ts'

/** Effects of a tool outside, for one tool call id. */
export interface Effect {
  readonly toolName: string
  readonly keys: Set<string>
  readonly attempts: number[]
}

/** State that outlives a process: the stored journal, its inbox, and the memory of tools and providers. */
export class CrashWorld {
  readonly clock: WatchedClock = watchedClock(1_000)
  readonly ids: IdSource = fakeIds()
  readonly effects = new Map<string, Effect>()
  /** The latest request for each answer, by conversation and index of the answer. */
  readonly requests = new Map<string, string>()
  /** Number of failures of a model, by index of the answer. */
  readonly failures = new Map<string, number>()
  /** The log of each conversation, by the keys from the root. */
  readonly logs = new Map<string, readonly AgentEvent[]>()
  /** All durable events of the root as text. */
  told = ''
  /** Accepted by the store and confirmed by no commit yet. */
  inbox: QueuedInput[] = []
  /** Number of answers in the stored transcript of the root. */
  answers = 0
  /** Called after each commit of the root, and before one that expects an empty inbox. */
  onCommit: (isFinal: boolean) => void = () => undefined
  commits = 0
  /** Deaths to come. Each counts its commits from the previous death. */
  deaths: readonly CrashPoint[]
  #commitsSinceDeath = 0
  #snapshot: JSONValue | undefined
  #beats = 0

  constructor(deaths: readonly CrashPoint[]) {
    this.deaths = deaths
  }

  /** Starts a process: it knows only what the snapshot and the inbox hold. */
  boot(): CrashProcess {
    const memory = createMemoryJournal(this.#snapshot === undefined ? {} : { snapshot: this.#snapshot })
    const recording = recordingJournal(this.#withInbox(memory))
    const [death] = this.deaths
    const never: CrashPoint = { commit: Number.MAX_SAFE_INTEGER, when: 'before' }
    const crashing = crashingJournal(recording, death ? { ...death, commit: death.commit - this.#commitsSinceDeath } : never)
    return { memory, recording, crashing, journal: this.#counted(crashing, crashing) }
  }

  /** Ends a process: keeps the snapshot and the logs. */
  bury({ memory, recording, crashing }: CrashProcess): void {
    this.#snapshot = memory.snapshot()
    this.#keepLogs('', recording)
    this.told += JSON.stringify(recording.events)
    if (!crashing.crashed) return
    this.deaths = this.deaths.slice(1)
    this.#commitsSinceDeath = 0
  }

  beat(): void {
    this.#beats++
  }

  ran({ toolCallId, toolName, idempotencyKey, attempt }: ToolContext): string {
    const { keys = new Set<string>(), attempts = [] } = this.effects.get(toolCallId) ?? {}
    this.effects.set(toolCallId, { toolName, keys: keys.add(idempotencyKey), attempts: [...attempts, attempt] })
    this.beat()
    return `${toolCallId} ran`
  }

  /** Lets time pass until the promise settles, but only while nothing else moves. */
  async settle(promise: Promise<unknown>): Promise<void> {
    let settled = false
    void promise.then(() => (settled = true))
    for (let waits = 0; waits < 500; waits++) {
      for (let quiet = 0, seen = -1; quiet < 4 && !settled; quiet++) {
        if (seen !== this.#beats) quiet = 0
        seen = this.#beats
        await new Promise((resolve) => setImmediate(resolve))
      }
      if (settled) return
      if (!(await this.clock.advance())) break
    }
    throw new Error('the run stands still')
  }

  #keepLogs(path: string, { log, childJournals }: RecordingJournal): void {
    this.logs.set(path, [...(this.logs.get(path) ?? []), ...log])
    for (const [key, child] of childJournals) this.#keepLogs(`${path}/${key}`, child)
  }

  #withInbox(memory: MemoryJournal): Journal {
    return {
      ...memory,
      drainInputs: (_window, max) => Promise.resolve(this.inbox.slice(0, max)),
      commit: async (records, expect) => {
        if (expect?.noInputs) this.onCommit(true)
        if (expect?.noInputs && this.inbox.length > 0) return { ok: false, reason: 'inputs-waiting' }
        const outcome = await memory.commit(records, expect)
        this.answers += records.filter((record) => record.type === 'append' && record.message.role === 'assistant').length
        const taken = new Set(records.flatMap((record) => (record.type === 'inputs-taken' ? record.inputIds : [])))
        this.inbox = this.inbox.filter(({ inputId }) => !taken.has(inputId))
        this.onCommit(false)
        return outcome
      },
    }
  }

  #counted(journal: Journal, process: CrashingJournal): Journal {
    const child = journal.child?.bind(journal)
    return {
      ...journal,
      commit: (records, expect) => {
        this.beat()
        if (!process.crashed) {
          this.commits++
          this.#commitsSinceDeath++
        }
        return journal.commit(records, expect)
      },
      ...(child && { child: (key, meta) => this.#counted(child(key, meta), process) }),
    }
  }
}

export interface CrashProcess {
  readonly memory: MemoryJournal
  readonly recording: RecordingJournal
  readonly crashing: CrashingJournal
  /** The journal that the run uses. */
  readonly journal: Journal
}
