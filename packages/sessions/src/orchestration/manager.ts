import { systemIds } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { checkPlace } from '../state/ids.ts'
import { addTokens, addUse, applyPatch, enterStep } from './changes.ts'
import { Cleanup } from './cleanup.ts'
import type { OrchestrationConfig } from './config.ts'
import { orchestrationExtension } from './extension.ts'
import { StateRecords } from './records.ts'
import { defaultNamespace } from './remove-session.ts'
import { innerSequencer } from './sequencer.ts'
import type { InnerSequencer } from './sequencer.ts'
import { checkPatch, freshState } from './state-record.ts'
import { stateStoreOf } from './state-store-of.ts'
import { timeToLive } from './time-to-live.ts'
import type { ChangeOptions, Orchestration, OrchestrationOptions, OrchestrationState, StorageOptions } from './types.ts'

type GivenOptions = OrchestrationOptions | (Omit<OrchestrationOptions, 'store'> & StorageOptions)

/** Decides, per session, which tools an agent may use now. Throws `invalid-config`; does no input or output. */
export function createOrchestration(options: GivenOptions): Orchestration {
  const store = stateStoreOf('store' in options ? options.store : options.storageProvider)
  const space = options.namespace ?? ('storageNamespace' in options ? options.storageNamespace : undefined) ?? defaultNamespace
  const { clock = systemClock, ids = systemIds, random = Math.random, environment = process.env, predicates = {}, onUnavailable = 'no-tools' } = options
  checkPlace(space, 'any')
  if (onUnavailable !== 'no-tools' && onUnavailable !== 'fail') throw new SessionError('invalid-config', "onUnavailable must be 'no-tools' or 'fail'.")
  const onDiagnostic = options.onDiagnostic ?? (() => undefined)
  const ttlMs = timeToLive(options.ttlMs, environment)
  const records = new StateRecords({ store, space, ttlMs, clock, ids, random })
  const sequencerOf = (config: OrchestrationConfig | undefined): InnerSequencer | undefined =>
    config && (config.steps ?? []).length > 0 ? innerSequencer(config, { predicates, onDiagnostic }) : undefined
  const sequencer = sequencerOf(options.config)
  const cleanup = new Cleanup({
    ...{ ...options.cleanup, store, space, clock },
    onFailure: (error) => onDiagnostic({ code: 'cleanup-failed', message: `The cleanup failed: ${nameOf(error)}.` }),
  })

  /** One change under its key, or without one. */
  function change(id: string, { key }: ChangeOptions, next: (state: OrchestrationState) => OrchestrationState): Promise<OrchestrationState | null> {
    return records.change(id, (state, isApplied) => {
      if (key !== undefined && isApplied(key)) return undefined
      return { state: next(state), keys: key === undefined ? [] : [key] }
    })
  }
  /** The position stays in the sequence, as far as that is known. */
  const inSequence = (state: OrchestrationState): OrchestrationState => {
    const length = sequencer?.sequenceLength(state) ?? Infinity
    return state.sequenceIndex > length ? applyPatch(state, { sequenceIndex: length }) : state
  }
  /** A state that is not there is a fresh one. Undefined: it cannot be read, and that means no tools. */
  async function readOrExplain(id: string): Promise<OrchestrationState | undefined> {
    try {
      return (await records.read(id)) ?? freshState(id, { version: 0, lastAccessed: clock.now(), ttl: ttlMs })
    } catch (error) {
      if (onUnavailable === 'fail' || (SessionError.isInstance(error) && error.code === 'invalid-key')) throw error
      onDiagnostic({ code: 'state-unavailable', sessionId: id, message: `No tool is allowed, the state cannot be read: ${nameOf(error)}.` })
      return undefined
    }
  }
  const use = (tool: string, key: string | undefined) => ({ tool: checkTool(tool), at: clock.now(), ...(key !== undefined && { key }) })

  return {
    getState: (id) => records.read(id),
    async getOrCreateState(id, config = options.config) {
      if (config && !sequencerOf(config)) return null
      return records.getOrCreate(id)
    },
    async updateState(id, patch) {
      const patchOf = typeof patch === 'function' ? patch : () => patch
      return change(id, {}, (state) => inSequence(applyPatch(state, checkPatch(patchOf(state)))))
    },
    async setActiveStep(id, name) {
      if (name !== null && sequencer && !sequencer.names.includes(name)) {
        throw new SessionError('invalid-input', `There is no orchestration step ${JSON.stringify(name)}; there are: ${sequencer.names.join(', ')}.`)
      }
      const step = name ?? undefined
      return records.change(id, (state) => {
        if (state.activeStep === step) return undefined
        return { state: applyPatch(state, checkPatch(enterStep(step))), keys: [] }
      })
    },
    async addUsedTool(id, tool, given = {}) {
      const added = use(tool, given.key)
      return change(id, given, (state) => applyPatch(state, addUse(state, added)))
    },
    async advanceSequence(id, given = {}) {
      return change(id, given, (state) => inSequence(applyPatch(state, { sequenceIndex: state.sequenceIndex + 1 })))
    },
    async recordToolUse(id, tool, given = {}) {
      const added = use(tool, given.key)
      return change(id, given, (state) => {
        const counted = given.usage ? applyPatch(state, addTokens(state, given.usage)) : state
        const used = applyPatch(counted, sequencer ? sequencer.applyUse(counted, added) : addUse(counted, added))
        const selection = sequencer?.applySelection(used)
        return selection ? applyPatch(used, selection.patch) : used
      })
    },
    async addTokenUsage(id, usage, given = {}) {
      return change(id, given, (state) => applyPatch(state, addTokens(state, usage)))
    },
    async resetState(id) {
      return records.change(id, (state) => ({ state: freshState(id, state), keys: [] }))
    },
    touch: (id) => records.touch(id),
    removeState: (id) => records.remove(id),
    listStates: (query = {}) => records.list(query),
    cleanupExpiredStates: () => cleanup.run(),
    stopCleanupTimer: () => cleanup.stop(),
    async close() {
      cleanup.stop()
    },
    async allowedTools(id, offered, context) {
      if (!sequencer) return { tools: [...offered], reasons: [] }
      const state = await readOrExplain(id)
      if (!state) return { tools: [], reasons: offered.map((tool) => ({ tool, reason: 'the state cannot be read' })) }
      return sequencer.allowed(state, offered, context)
    },
    extension: (config = options.config) => orchestrationExtension({ sequencer: sequencerOf(config), records, clock, onUnavailable, onDiagnostic }),
  }
}

function checkTool(tool: string): string {
  if (typeof tool !== 'string' || tool === '') throw new SessionError('invalid-input', 'A tool must be named by a non-empty string.')
  return tool
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
