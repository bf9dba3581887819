import { systemIds, type Extension } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import type { Clock, Usage } from '@bowline/llm'
import { inputChecks, listOfNames } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { StateQuery, TimeToLive } from '../contract/state-store.ts'
import { checkPlace } from '../contract/check-state.ts'
import { addTokens, addUse, applyPatch, enterStep } from './changes.ts'
import {
  checkChangeOptions,
  checkConditionContext,
  checkedOrchestrationOptions,
  checkOffered,
  checkRecordOptions,
  checkStateQuery,
  checkUsage,
} from './check-options.ts'
import { Cleanup } from './cleanup.ts'
import { orchestrationExtension } from './extension.ts'
import { StateRecords } from './records.ts'
import { defaultNamespace } from './remove-session.ts'
import { Sequencer } from './sequencer.ts'
import { checkPatch, freshState } from './state-record.ts'
import { checkStateId } from './state-id.ts'
import { stateStoreOf } from '../state/state-store-of.ts'
import { memoryStateStore } from '../state/memory-state-store.ts'
import { timeToLive } from './time-to-live.ts'
import type {
  ChangeOptions,
  ConditionContext,
  Orchestration,
  OrchestrationOptions,
  OrchestrationState,
  StatePage,
  StatePatch,
  StorageOptions,
  ToolDecision,
  ToolUse,
  OrchestrationConfig,
} from './types.ts'

type Changing = Promise<OrchestrationState | null>

/**
 * Creates an orchestration that decides, per session, which tools an agent may use at each moment. Does no I/O. Throws
 * `invalid-config`.
 */
export function createOrchestration(
  options: OrchestrationOptions | (Omit<OrchestrationOptions, 'store' | 'namespace'> & StorageOptions),
): Orchestration {
  return new Manager(checkedOrchestrationOptions(options))
}

class Manager implements Orchestration {
  readonly #options: OrchestrationOptions
  readonly #records: StateRecords
  readonly #clock: Clock
  readonly #ttlMs: TimeToLive
  readonly #cleanup: Cleanup
  readonly #onUnavailable: 'no-tools' | 'fail'
  readonly #tell: NonNullable<OrchestrationOptions['onDiagnostic']>
  readonly #sequencer: Sequencer | undefined

  constructor(options: OrchestrationOptions) {
    const {
      namespace: space = defaultNamespace,
      clock = systemClock,
      ids = systemIds,
      random = Math.random,
      environment = process.env,
    } = options
    const { onUnavailable = 'no-tools', onDiagnostic = () => undefined } = options
    const store = options.store === undefined ? memoryStateStore({ clock }) : stateStoreOf(options.store)
    checkPlace(space, 'any')
    this.#options = options
    this.#clock = clock
    this.#onUnavailable = onUnavailable
    this.#tell = onDiagnostic
    this.#ttlMs = timeToLive(options.ttlMs, environment)
    this.#records = new StateRecords({ store, space, ttlMs: this.#ttlMs, clock, ids, random })
    this.#sequencer = this.#sequencerOf(options.config)
    const onFailure = (error: unknown): void => onDiagnostic({ code: 'cleanup-failed', message: `The cleanup failed: ${nameOf(error)}.` })
    this.#cleanup = new Cleanup({ ...options.cleanup, store, space, clock, onFailure })
  }

  getState(id: string): Changing {
    return this.#records.read(id)
  }

  async getOrCreateState(id: string, config = this.#options.config): Changing {
    return config !== undefined && !this.#sequencerOf(config) ? null : this.#records.getOrCreate(id)
  }

  async updateState(id: string, patch: StatePatch | ((state: OrchestrationState) => StatePatch)): Changing {
    if (typeof patch !== 'function') checkPatch(patch)
    const patchOf = typeof patch === 'function' ? patch : () => patch
    return this.#change(id, {}, (state) => this.#inSequence(applyPatch(state, checkPatch(patchOf(state)))))
  }

  async setActiveStep(id: string, name: string | null): Changing {
    if (name !== null) inputChecks.checkName('name', name)
    const names = this.#sequencer?.names
    if (name !== null && names?.includes(name) === false) {
      throw new SessionError('invalid-input', `There is no orchestration step ${JSON.stringify(name)}${listOfNames(name, names)}`)
    }
    const patch = enterStep(name ?? undefined)
    return this.#records.change(id, (state) =>
      (state.activeStep ?? null) === name ? undefined : { state: applyPatch(state, patch), keys: [] },
    )
  }

  async addUsedTool(id: string, tool: string, options: ChangeOptions = {}): Changing {
    checkChangeOptions('addUsedTool.options', options)
    const use = this.#useOf('tool', tool, options)
    return this.#change(id, options, (state) => applyPatch(state, addUse(state, use)))
  }

  async advanceSequence(id: string, options: ChangeOptions = {}): Changing {
    checkChangeOptions('advanceSequence.options', options)
    return this.#change(id, options, (state) => this.#inSequence(applyPatch(state, { sequenceIndex: state.sequenceIndex + 1 })))
  }

  async recordToolUse(id: string, tool: string, options: ChangeOptions & { readonly usage?: Usage } = {}): Changing {
    checkRecordOptions('recordToolUse.options', options)
    const use = this.#useOf('tool', tool, options)
    const { usage } = options
    return this.#change(id, options, (state) => {
      const patch = this.#sequencer?.recordUse(state, use, { usage }) ?? { ...(usage && addTokens(state, usage)), ...addUse(state, use) }
      return applyPatch(state, patch)
    })
  }

  async addTokenUsage(id: string, usage: Usage, options: ChangeOptions = {}): Changing {
    inputChecks.checkRequired('usage', usage, 'an object', (given) => given !== undefined)
    checkUsage('usage', usage)
    checkChangeOptions('addTokenUsage.options', options)
    return this.#change(id, options, (state) => applyPatch(state, addTokens(state, usage)))
  }

  async resetState(id: string): Changing {
    return this.#records.reset(id)
  }

  touch(id: string): Promise<boolean> {
    return this.#records.touch(id)
  }

  removeState(id: string): Promise<boolean> {
    return this.#records.remove(id)
  }

  async listStates(query: StateQuery = {}): Promise<StatePage> {
    checkStateQuery('listStates.options', query)
    return this.#records.list(query)
  }

  cleanupExpiredStates(): Promise<number> {
    return this.#cleanup.run()
  }

  stopCleanupTimer(): void {
    this.#cleanup.stop()
  }

  async close(): Promise<void> {
    this.#cleanup.stop()
  }

  async allowedTools(id: string, offered: readonly string[], context?: ConditionContext): Promise<ToolDecision> {
    checkStateId(id)
    checkOffered('offered', offered)
    checkConditionContext('context', context)
    if (!this.#sequencer) return { tools: [...offered], reasons: [] }
    const state = await this.#readOrExplain(id)
    if (state) return this.#sequencer.allowed(state, offered, context)
    return { tools: [], reasons: offered.map((tool) => ({ tool, reason: 'the state cannot be read' })) }
  }

  extension(config = this.#options.config): Extension {
    const sequencer = this.#sequencerOf(config)
    const [records, clock, onUnavailable, onDiagnostic] = [this.#records, this.#clock, this.#onUnavailable, this.#tell]
    return orchestrationExtension({ sequencer, records, clock, onUnavailable, onDiagnostic })
  }

  /** Returns undefined if there are no steps. */
  #sequencerOf(config: OrchestrationConfig | undefined): Sequencer | undefined {
    if (config === undefined) return undefined
    const sequencer = new Sequencer(config, { predicates: this.#options.predicates ?? {}, onDiagnostic: this.#tell })
    return sequencer.names.length > 0 ? sequencer : undefined
  }

  /** Applies one change. If a key is given, it is idempotent. */
  async #change(id: string, { key }: ChangeOptions, next: (state: OrchestrationState) => OrchestrationState): Changing {
    return this.#records.change(id, (state, isApplied) => {
      if (key !== undefined && isApplied(key)) return undefined
      return { state: next(state), keys: key === undefined ? [] : [key] }
    })
  }

  /** Limits the position to the length of the sequence, if that is known. */
  #inSequence(state: OrchestrationState): OrchestrationState {
    const length = this.#sequencer?.sequenceLength(state) ?? Infinity
    return state.sequenceIndex > length ? applyPatch(state, { sequenceIndex: length }) : state
  }

  #useOf(place: string, tool: string, { key }: ChangeOptions): ToolUse {
    inputChecks.checkName(place, tool)
    return { tool, at: this.#clock.now(), ...(key !== undefined && { key }) }
  }

  /** Returns the state, or a fresh one if there is none. Returns undefined if it cannot be read, which means that no tool is allowed. */
  async #readOrExplain(id: string): Promise<OrchestrationState | undefined> {
    try {
      return (await this.#records.read(id)) ?? freshState(id, { version: 0, lastAccessed: this.#clock.now(), ttl: this.#ttlMs })
    } catch (error) {
      if (this.#onUnavailable === 'fail') throw error
      this.#tell({
        code: 'state-unavailable',
        sessionId: id,
        message: `No tool is allowed, because the state cannot be read: ${nameOf(error)}.`,
      })
      return undefined
    }
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
