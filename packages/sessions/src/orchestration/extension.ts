import {
  defineExtension,
  type CallDecision,
  type Extension,
  type ExtensionContext,
  type HookedCall,
  type TurnStatus,
} from '@bowline/agent-loop'
import { isEnded, statusOf } from '@bowline/agent-loop/events'
import type { Clock, UserMessage } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import type { StateRecords } from './records.ts'
import type { Sequencer } from './sequencer.ts'
import { stateIdOf } from './state-id.ts'
import { TurnCalls } from './turn-calls.ts'
import { TurnRecords, type TurnRecordsParts } from './turn-records.ts'
import type { ConditionContext, OrchestrationDiagnostic } from './types.ts'

export interface ExtensionParts {
  /** Undefined: the configuration has no steps, and the extension does nothing. */
  readonly sequencer: Sequencer | undefined
  readonly records: StateRecords
  readonly clock: Clock
  readonly onUnavailable: 'no-tools' | 'fail'
  readonly onDiagnostic: (diagnostic: OrchestrationDiagnostic) => void
}

/** Time limit of the answer. It is below the time limit of hooks, because a hook that times out leaves the tools unchanged. */
const answerMs = 4_000
const hookMs = 5_000

/**
 * Creates the extension that shows the model only the tools that the state of its session allows, refuses calls of others, and
 * records uses.
 */
export function orchestrationExtension({ sequencer, onUnavailable, ...parts }: ExtensionParts): Extension {
  const name = 'orchestration'
  if (!sequencer) return defineExtension({ name, hooks: {} })
  const turns = new WeakMap<ExtensionContext, Turn>()
  const turnOf = (context: ExtensionContext): Turn => {
    const turn = turns.get(context) ?? new Turn({ ...parts, sequencer }, context)
    turns.set(context, turn)
    return turn
  }
  return defineExtension({
    name,
    timeoutMs: hookMs,
    ...(onUnavailable === 'fail' && { onError: 'fail' as const }),
    hooks: {
      onTurnStart: ({ resumed }, context) => turnOf(context).begin(resumed),
      async beforeModelCall({ tools }, context) {
        const asked = within(parts.clock, answerMs, turnOf(context).show(tools))
        return {
          shownTools: onUnavailable === 'fail' ? await asked : await asked.catch((error: unknown) => noTools(parts, context, error)),
        }
      },
      afterModelCall: ({ message, usage }, context) => turnOf(context).calls.spend(String(message.id), usage),
      onToolCall: ({ call }, context) => turnOf(context).judge(call),
      onToolSettled: ({ call, status }, context) => turnOf(context).calls.settle(call.toolCallId, call.toolName, status),
      onStepEnd: (_event, context) => turnOf(context).record(),
      onAgentEnd: ({ status }, context) => turnOf(context).end(status),
    },
  })
}

function noTools(
  { onDiagnostic }: Pick<ExtensionParts, 'onDiagnostic'>,
  { sessionKey }: ExtensionContext,
  error: unknown,
): readonly string[] {
  const name = error instanceof Error ? error.name : typeof error
  onDiagnostic({
    code: 'state-unavailable',
    ...(sessionKey !== undefined && { sessionId: sessionKey }),
    message: `No tool is offered, because the state cannot be used: ${name}.`,
  })
  return []
}

/** One turn, or the part of it that this process executes. */
class Turn {
  readonly calls: TurnCalls
  readonly #context: ExtensionContext
  readonly #parts: TurnRecordsParts
  #records: TurnRecords | undefined

  constructor(parts: TurnRecordsParts, context: ExtensionContext) {
    this.calls = new TurnCalls(context)
    this.#context = context
    this.#parts = parts
  }

  /** Records what an earlier segment left in the record of the turn. */
  async begin(resumed: boolean): Promise<void> {
    await this.#own.read(resumed)
    await this.record()
  }

  /** A run that waits needs its state. */
  async end(status: TurnStatus): Promise<void> {
    await this.record()
    if (isEnded(statusOf(status))) await this.#own.release()
  }

  async show(tools: readonly string[]): Promise<readonly string[]> {
    await this.record()
    this.calls.forgetOpen()
    const state = await this.#own.select(await this.#own.read(), this.#conditions)
    return this.#parts.sequencer.show(state, tools).tools
  }

  /** Judges by the state as it will be when the calls before this one are recorded. */
  async judge({ toolCallId, toolName }: HookedCall): Promise<CallDecision> {
    const state = this.#own.foresee(await this.#own.read(), this.calls.before(toolCallId), this.#conditions)
    const [refused] = this.#parts.sequencer.filter(state, [toolName]).reasons
    if (!refused) {
      this.calls.open(toolCallId, toolName)
      return { action: 'allow' }
    }
    const expected = this.#parts.sequencer.expected(state)
    const instead = expected ? ` Use ${expected.join(' or ')} next.` : ''
    return {
      action: 'reject-and-continue',
      message: `The tool "${toolName}" may not be used in the step "${state.activeStep}": ${refused.reason}.${instead}`,
    }
  }

  record(): Promise<void> {
    return this.#own.flush(this.#conditions)
  }

  get #own(): TurnRecords {
    this.#records ??= new TurnRecords(this.#parts, idOf(this.#context), this.calls, this.#context)
    return this.#records
  }

  get #conditions(): ConditionContext {
    const input = this.#context.latestInput()
    return { turns: this.#context.turn, ...(input && { message: textOf(input) }) }
  }
}

function idOf({ sessionKey, agent, runId }: ExtensionContext): string {
  if (sessionKey === undefined)
    throw new SessionError('invalid-key', 'The orchestration extension needs a session key. Set sessionKey of the run.')
  return stateIdOf(sessionKey, agent.length > 0 ? runId : undefined)
}

function textOf({ content }: UserMessage): string {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

/** Rejects with `store-unavailable` if there is no answer in time. A later answer is ignored. */
function within<T>(clock: Clock, timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new SessionError('store-unavailable', `The state store did not answer within ${timeoutMs} ms.`))
    const cancelTimer = clock.setTimer(clock.now() + timeoutMs, giveUp, { hold: true })
    work.then(resolve, reject).finally(cancelTimer)
  })
}
