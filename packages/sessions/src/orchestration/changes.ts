import type { Usage } from '@bowline/llm'
import type { OrchestrationState, StatePatch, TokenTotals, ToolUse } from './types.ts'

const recentToolsKept = 10
const usesKept = 100

// What happens to a state, as pure functions.

export const noTokens: TokenTotals = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }

/** Another step begins: its sequence at the start, nothing used in it yet. */
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

/** Numbers that are missing count as 0. */
export function addTokens(state: OrchestrationState, { inputTokens = 0, outputTokens = 0 }: Usage): StatePatch {
  const promptTokens = state.cumulativeTokenUsage.promptTokens + inputTokens
  const completionTokens = state.cumulativeTokenUsage.completionTokens + outputTokens
  return { cumulativeTokenUsage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens } }
}

/** Merges shallowly. With another active step its sequence begins, unless the patch says where it stands. */
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
