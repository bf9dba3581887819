import type { ExtensionContext } from '../contract/extension.ts'
import type { Accepted } from '../contract/input.ts'
import type { StopSwitch } from '../kernel/stop-switch.ts'
import { invalidatePrompt } from '../run/definition.ts'
import type { AgentDefinition } from '../run/definition.ts'

export const refusedInput: Accepted = { ok: false, reason: 'run-ended' }

type Given = 'runId' | 'turn' | 'model' | 'contextUsage' | 'instructions' | 'followUp' | 'waitForIdle' | 'spawnChild' | 'logStep'

/** Facts for the context that hooks get in a model call outside of a turn. */
export interface OutsideTurn extends Pick<ExtensionContext, Given> {
  readonly stop: StopSwitch
  readonly sessionKey: string | undefined
  readonly journal: () => ExtensionContext['journal']
}

/** Returns the context of hooks outside of a turn: its turn fields are empty, and it accepts no input except follow-ups. */
export function contextWithoutTurn(agent: AgentDefinition, { stop, sessionKey, journal, ...given }: OutsideTurn): ExtensionContext {
  return Object.freeze({
    ...given,
    step: 0,
    agent: Object.freeze([]),
    abortSignal: stop.signal,
    usage: Object.freeze({}),
    state: {},
    ...(agent.models && { models: agent.models }),
    ...(sessionKey !== undefined && { sessionKey }),
    get journal() {
      return journal()
    },
    latestInput: () => undefined,
    isIdle: () => journal() === 'idle',
    hasPendingInputs: () => false,
    steer: async () => refusedInput,
    overlay: async () => refusedInput,
    compactAfterTurn: () => undefined,
    abort: (reason) => stop.stop({ kind: 'stop', ...(reason !== undefined && { reason }) }),
    invalidatePrompt: (channel) => invalidatePrompt(agent, channel),
    reload: () => agent.reload(),
  } satisfies ExtensionContext)
}
