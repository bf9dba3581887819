import type { JSONValue } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { optional } from '../../base/fields.ts'
import { copyJson, deepFreeze } from '../../base/json.ts'
import type { ContextUsage, ExtensionContext, StepFields } from '../../contract/extension.ts'
import { phaseOf } from '../../journal/phases.ts'
import { promptFor } from '../../kernel/system-prompt.ts'
import type { Turn } from '../../kernel/turn.ts'

/**
 * Returns the context of an extension: facts about its turn, and requests to it. One object serves the whole turn, and its values
 * are always current.
 */
export function extensionContext(turn: Turn, stateOf: () => ExtensionContext['state']): ExtensionContext {
  const { run, runId, number, stop } = turn
  const { inbox, journal } = run
  return Object.freeze({
    runId,
    turn: number,
    abortSignal: stop.signal,
    agent: run.path,
    ...(run.sessionKey !== undefined && { sessionKey: run.sessionKey }),
    ...(run.session && { session: run.session }),
    ...(run.context !== undefined && { context: run.context }),
    ...(turn.agent.models && { models: turn.agent.models }),
    get step() {
      return turn.step
    },
    get journal() {
      return phaseOf(journal)
    },
    get model() {
      return turn.model.name
    },
    get usage() {
      return turn.usage
    },
    get cost() {
      return turn.cost
    },
    get state() {
      return stateOf()
    },
    latestInput: () => turn.transcript.latestInput,
    contextUsage: () => contextUsage(turn),
    instructions: () => turn.instructions,
    isIdle: () => phaseOf(journal) === 'idle',
    hasPendingInputs: () => inbox.hasInputs || inbox.hasFollowUps,
    steer: (input) => inbox.offer('steer', input),
    followUp: (input) => run.followUp(input),
    overlay: (input) => inbox.offer('overlay', input),
    compactAfterTurn: () => void turn.wishes.add('compaction'),
    abort: (reason) => stop.stop({ kind: 'stop', ...(reason !== undefined && { reason }) }),
    waitForIdle: () => run.ended,
    invalidatePrompt: (channel) => run.invalidatePrompt(channel),
    reload: () => run.reload(),
    spawnChild: (options) => run.spawnChild(promptFor(turn.prompt, turn.instructions), options),
    logStep: (fields) => turn.log.note({ type: 'orchestration-step', ...stepFields(fields) }),
  } satisfies ExtensionContext)
}

function contextUsage(turn: Turn): ContextUsage {
  const { contextWindow } = turn.model.info
  return { tokens: turn.contextTokens(), ...(contextWindow !== undefined && { contextWindow }) }
}

/** Returns the fields of an `orchestration-step` and no others. Throws for a wrong value. */
export function stepFields({ name, previous, because, sequenceIndex }: StepFields): StepFields {
  if (name !== null && typeof name !== 'string') return refuse('a name, or null')
  if (previous !== undefined && typeof previous !== 'string') return refuse('a text as previous')
  if (typeof because !== 'string') return refuse('a text as because')
  if (!Number.isSafeInteger(sequenceIndex)) return refuse('a whole number as sequenceIndex')
  return { name, because, sequenceIndex, ...optional('previous', previous) }
}

function refuse(what: string): never {
  throw new TypeError(`logStep must be given ${what}`)
}

type StoredStates = Readonly<Record<string, JSONValue>>

/** The records of the extensions of one turn: as they are being written, and as they were last taken to be stored. */
export class ExtensionStates {
  readonly #records = new Map<string, Record<string, JSONValue>>()
  /** The records as they were last taken, as text. */
  readonly #texts = new Map<string, string>()
  readonly #broken = new Set<string>()
  readonly #onError: (extension: string, message: string) => void
  #stored: StoredStates

  /** `onError` is called once for each record that is not JSON; the value taken before stays. Must not throw. */
  constructor(stored: StoredStates, onError: (extension: string, message: string) => void) {
    this.#stored = stored
    this.#onError = onError
  }

  /** Returns undefined if no extension has ever kept anything. */
  get stored(): StoredStates | undefined {
    return Object.keys(this.#stored).length > 0 ? this.#stored : undefined
  }

  /** Returns the extension's own record, which it may change. */
  of(extension: string): Record<string, JSONValue> {
    const known = this.#records.get(extension)
    if (known) return known
    const before = Object.hasOwn(this.#stored, extension) ? this.#stored[extension] : {}
    const record = structuredClone(before) as Record<string, JSONValue>
    this.#records.set(extension, record)
    this.#texts.set(extension, JSON.stringify(record))
    return record
  }

  /** Takes over what extensions have written. Returns true if anything has changed. */
  take(): boolean {
    const before = this.#stored
    for (const [extension, record] of this.#records) this.#takeRecord(extension, record)
    return this.#stored !== before
  }

  #takeRecord(extension: string, record: Record<string, JSONValue>): void {
    try {
      const copy = copyJson(record)
      const text = JSON.stringify(copy)
      if (text === this.#texts.get(extension)) return
      this.#texts.set(extension, text)
      this.#stored = { ...this.#stored, [extension]: deepFreeze(copy) }
    } catch (error) {
      if (this.#broken.has(extension)) return
      this.#broken.add(extension)
      this.#onError(extension, messageOf(error))
    }
  }
}
