import type { Usage } from '@bowline/llm'
import type { OrchestrationState, StatePatch, TokenTotals, ToolUse } from './types.ts'

const recentToolsKept = 10
const usesKept = 100

// Changes of a state, as pure functions.

export const noTokens: TokenTotals = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }

/** Returns the patch that enters a step: at the start of its sequence, with no uses yet. */
export function enterStep(name: string | undefined): StatePatch {
  return { activeStep: name ?? null, sequenceIndex: 0, usesInStep: 0 }
}

export function addUse(state: OrchestrationState, use: ToolUse): StatePatch {
  return {
    recentlyUsedTools: [use.tool, ...state.recentlyUsedTools.filter((tool) => tool !== use.tool)].slice(0, recentToolsKept),
    toolHistory: [...state.toolHistory, use].slice(-usesKept),
    usesInStep: state.usesInStep + 1,
  }
}

/** Adds token counts. Missing counts are 0. */
export function addTokens(state: OrchestrationState, { inputTokens = 0, outputTokens = 0 }: Usage): StatePatch {
  const promptTokens = state.cumulativeTokenUsage.promptTokens + inputTokens
  const completionTokens = state.cumulativeTokenUsage.completionTokens + outputTokens
  return { cumulativeTokenUsage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens } }
}

/** Merges shallowly. If the active step changes, its sequence starts at 0, unless the patch sets the position. */
export function applyPatch(state: OrchestrationState, patch: StatePatch): OrchestrationState {
  const { activeStep, data, ...fields } = patch
  const entered = activeStep !== undefined && (activeStep ?? undefined) !== state.activeStep ? { sequenceIndex: 0, usesInStep: 0 } : {}
  const { activeStep: oldStep, data: oldData, ...rest } = state
  const newStep = activeStep === undefined ? oldStep : activeStep
  const newData = data === undefined ? oldData : data
  return {
    ...rest,
    ...entered,
    ...fields,
    ...(newStep == null ? {} : { activeStep: newStep }),
    ...(newData == null ? {} : { data: newData }),
  }
}
