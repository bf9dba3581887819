import type { ExtensionContext } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { addTokens, applyPatch } from './changes.ts'
import type { StateRecords } from './records.ts'
import type { Sequencer } from './sequencer.ts'
import type { TurnCall, TurnCalls } from './turn-calls.ts'
import type { ConditionContext, OrchestrationDiagnostic, OrchestrationState, StatePatch } from './types.ts'

/** A change of the active step or of its sequence position. */
interface Move {
  readonly from: OrchestrationState
  readonly to: OrchestrationState
  readonly because: string
}

export interface TurnRecordsParts {
  readonly records: StateRecords
  readonly sequencer: Sequencer
  readonly clock: Clock
  readonly onDiagnostic: (diagnostic: OrchestrationDiagnostic) => void
}

/** Writes the calls of a turn to the state of its session, and logs changes of the step. */
export class TurnRecords {
  readonly #parts: TurnRecordsParts
  readonly #id: string
  readonly #calls: TurnCalls
  readonly #logStep: ExtensionContext['logStep']

  constructor(parts: TurnRecordsParts, id: string, calls: TurnCalls, { logStep }: Pick<ExtensionContext, 'logStep'>) {
    this.#parts = parts
    this.#id = id
    this.#calls = calls
    this.#logStep = logStep
  }

  /** Reads the state, which does not expire before `release`. Creates it if there is none. `isNeeded`: the run had one. */
  read(isNeeded = true): Promise<OrchestrationState> {
    const { records, onDiagnostic } = this.#parts
    return records.hold(this.#id, (hasExpired) => {
      const message = 'The state of a run has expired or was removed. Its plan starts anew.'
      if (isNeeded || hasExpired) onDiagnostic({ code: 'state-expired', sessionId: this.#id, message })
    })
  }

  /** Lets the state expire again. */
  release(): Promise<void> {
    return this.#parts.records.release(this.#id)
  }

  /** Records settled calls and usage in one update, in the order of the calls. */
  async flush(context: ConditionContext): Promise<void> {
    const { recordable, usages } = this.#calls
    if (recordable.length === 0 && usages.length === 0) return
    const keys = [...recordable, ...usages].map(({ key }) => key)
    await this.#change((state, isApplied, moved) => {
      const fresh = keys.filter((key) => !isApplied(key))
      if (fresh.length === 0) return undefined
      let next = state
      for (const { key, usage } of usages) if (fresh.includes(key)) next = applyPatch(next, addTokens(next, usage))
      for (const call of recordable) {
        if (!fresh.includes(call.key)) continue
        next = moved(next, this.#useOf(next, call), `${call.tool} was used`)
        next = this.#selected(next, context, moved)
      }
      return { state: next, keys: fresh }
    })
    this.#calls.forget(keys)
  }

  /** Activates the selected step and returns the new state. */
  async select(state: OrchestrationState, context: ConditionContext): Promise<OrchestrationState> {
    if (!this.#parts.sequencer.select(state, context).changed) return state
    return this.#change((current, _isApplied, moved) => {
      const next = this.#selected(current, context, moved)
      return next === current ? undefined : { state: next, keys: [] }
    })
  }

  /** Returns the state as it would be after these calls are recorded. */
  foresee(state: OrchestrationState, calls: readonly TurnCall[], context: ConditionContext): OrchestrationState {
    return calls.reduce((before, call) => {
      const used = applyPatch(before, this.#useOf(before, call))
      return this.#selected(used, context, applyPatch)
    }, state)
  }

  #useOf(state: OrchestrationState, { tool, key }: TurnCall): StatePatch {
    return this.#parts.sequencer.applyUse(state, { tool, at: this.#parts.clock.now(), key })
  }

  #selected(state: OrchestrationState, context: ConditionContext, apply: Apply): OrchestrationState {
    const selection = this.#parts.sequencer.applySelection(state, context)
    return selection ? apply(state, selection.patch, selection.because) : state
  }

  /** Changes the state. Logs moves after they are stored. */
  async #change(
    change: (...given: [...Parameters<Parameters<StateRecords['change']>[1]>, Apply]) => ReturnType<Parameters<StateRecords['change']>[1]>,
  ): Promise<OrchestrationState> {
    const { records } = this.#parts
    let moves: Move[] = []
    const attempt = (): Promise<OrchestrationState | null> =>
      records.change(this.#id, (state, isApplied) => {
        moves = []
        return change(state, isApplied, (from, patch, because) => {
          const to = applyPatch(from, patch)
          if (hasMoved(from, to)) moves.push({ from, to, because })
          return to
        })
      })
    let state = await attempt()
    if (!state) {
      await this.read()
      state = await attempt()
    }
    for (const move of moves) this.#logStep(fieldsOf(move))
    return state ?? this.read()
  }
}

type Apply = (state: OrchestrationState, patch: StatePatch, because: string) => OrchestrationState

function hasMoved(from: OrchestrationState, to: OrchestrationState): boolean {
  return from.activeStep !== to.activeStep || from.sequenceIndex !== to.sequenceIndex
}

function fieldsOf({ from, to, because }: Move): Parameters<ExtensionContext['logStep']>[0] {
  const previous = from.activeStep === to.activeStep ? undefined : from.activeStep
  return { name: to.activeStep ?? null, because, sequenceIndex: to.sequenceIndex, ...(previous !== undefined && { previous }) }
}
