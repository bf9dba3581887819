import { mergeRuntimeParams } from '@bowline/llm'
import { deepFreeze } from '../../base/json.ts'
import { neverRan } from '../../base/messages.ts'
import type { Extension, ExtensionContext, HookName } from '../../contract/extension.ts'
import { describeCall } from '../../kernel/call.ts'
import type { Call, Prepared } from '../../kernel/call.ts'
import { placeInput } from '../../kernel/enter.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { EndedCall, RequestDraft, Segment } from '../../kernel/subjects.ts'
import type { Hooks, Turn } from '../../kernel/turn.ts'
import { cancelledOutcome, deniedOutcome, errorOutcome, valueOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { validate } from '../../tools/tool.ts'
import { askAgentStart, askCall, askCompaction, askContext, askInput, askRequest, askResult, askSettled } from './ask-hooks.ts'
import type { CallVerdict } from './ask-hooks.ts'
import { HandlerCalls } from './call-handlers.ts'
import { extensionContext, ExtensionStates } from './extension-context.ts'

interface State {
  readonly states: ExtensionStates
  calls: HandlerCalls | undefined
}

const stateOf = turnState((turn): State => ({
  states: new ExtensionStates(turn.open?.extensionState ?? {}, (name, message) =>
    turn.log.note({ type: 'error', source: 'extension', name, hook: 'state', message, fatal: false }),
  ),
  calls: undefined,
}))

/** For each hook of an extension: the kernel hook in which it is called, and whether the draft is stored before it. */
const places = {
  onInput: { at: 'input', foreign: false },
  beforeAgentStart: { at: 'instruct', foreign: true },
  onTurnStart: { at: 'onTurnStart', foreign: true },
  transformContext: { at: 'context', foreign: false },
  onStepStart: { at: 'onStepStart', foreign: true },
  onStepEnd: { at: 'onStepEnd', foreign: true },
  beforeModelCall: { at: 'request', foreign: false },
  onModelRequest: { at: 'sent', foreign: false },
  afterModelCall: { at: 'onAnswer', foreign: true },
  onToolCall: { at: 'beforeCall', foreign: true },
  onToolResult: { at: 'outcome', foreign: true },
  onToolSettled: { at: 'onCallSettled', foreign: true },
  beforeCompaction: { at: 'beforeCompaction', foreign: false },
  afterCompaction: { at: 'afterCompaction', foreign: false },
  onRetryStart: { at: 'onRetryStart', foreign: false },
  onRetryEnd: { at: 'onRetryEnd', foreign: true },
  onAgentEnd: { at: 'onTurnEnd', foreign: false },
  onSavePoint: { at: 'onSavePoint', foreign: false },
  onSettled: { at: 'onSettled', foreign: false },
  onEvent: { at: 'onEvent', foreign: false },
} as const satisfies Record<HookName, { readonly at: keyof Hooks; readonly foreign: boolean }>

export const hookNames = Object.keys(places) as readonly HookName[]

/** Calls the hooks of the agent's extensions at their points of the turn. A hook that no extension has costs nothing. */
export function extensionsPlugin(extensions: readonly Extension[]): Plugin {
  const used = hookNames.filter((hook) => extensions.some(({ hooks }) => hooks[hook] !== undefined))
  const ours = hooksFor((turn) => (stateOf(turn).calls ??= callsFor(turn, extensions)))
  const asked = used.map((hook) => [places[hook].at, ours[places[hook].at]] as const)
  const showsDeltas = extensions.some(({ deltas, hooks }) => deltas === true && hooks.onEvent !== undefined)
  return {
    name: 'extensions',
    foreign: Object.fromEntries(used.filter((hook) => places[hook].foreign).map((hook) => [places[hook].at, true])),
    hooks: {
      ...Object.fromEntries(asked),
      ...(showsDeltas && { onDelta: ours.onDelta }),
      changed: (turn) => stateOf(turn).states.take() || undefined,
      row(turn, row) {
        const { stored } = stateOf(turn).states
        if (stored) row.extensionState = stored
      },
    },
  }
}

type OurHooks = Required<Pick<Hooks, (typeof places)[HookName]['at'] | 'onDelta'>>

function hooksFor(callsOf: (turn: Turn) => HandlerCalls): OurHooks {
  return {
    input: async (turn, given) => {
      const verdict = await askInput(callsOf(turn), given)
      return verdict.action === 'continue' ? undefined : verdict
    },
    instruct: (turn, segment) => instruct(turn, callsOf(turn), segment),
    onTurnStart: (turn, { resumed }) => callsOf(turn).tell('onTurnStart', { turn: turn.number, resumed }),
    onStepStart: (turn, step) => callsOf(turn).tell('onStepStart', { step }),
    context: async (turn, request) => {
      request.messages = await askContext(callsOf(turn), request.messages)
    },
    request: (turn, request) => patchRequest(turn, callsOf(turn), request),
    sent: (turn, sent) => callsOf(turn).tell('onModelRequest', sent),
    onAnswer: (turn, message) => callsOf(turn).tell('afterModelCall', { message, usage: message.usage }),
    beforeCall: async (turn, call) => {
      const verdict = await askCall(callsOf(turn), describeCall(call), (input) => validate(call.tool, input))
      const outcome = await readVerdict(turn, call, verdict)
      return outcome && ({ kind: 'settled', outcome } satisfies Prepared)
    },
    outcome: (turn, ended) => patchOutcome(turn, callsOf(turn), ended),
    onCallSettled: (turn, settled) => askSettled(callsOf(turn), settled),
    onStepEnd: (turn, end) => callsOf(turn).tell('onStepEnd', end),
    beforeCompaction: (turn, event) => askCompaction(callsOf(turn), event),
    afterCompaction: (turn, compaction) => callsOf(turn).tell('afterCompaction', { compaction }),
    onRetryStart: (turn, start) => callsOf(turn).tell('onRetryStart', start),
    onRetryEnd: (turn, end) => callsOf(turn).tell('onRetryEnd', end),
    onTurnEnd: (turn, result) => callsOf(turn).tell('onAgentEnd', { result, status: result.status }),
    onSavePoint: (turn, number) => callsOf(turn).tell('onSavePoint', { turn: number }),
    onSettled: (turn, number) => callsOf(turn).tell('onSettled', { turn: number }),
    onEvent: (turn, event) => callsOf(turn).show(event),
    onDelta: (turn, event) => callsOf(turn).show(event),
  }
}

/** Returns the handler calls of a turn. A failure that must not be ignored ends the turn. */
function callsFor(turn: Turn, extensions: readonly Extension[]): HandlerCalls {
  const contexts = new Map<Extension, ExtensionContext>()
  return new HandlerCalls({
    extensions,
    clock: turn.clock,
    abortSignal: turn.stop.signal,
    stopDeadline: () => turn.stopDeadline,
    hasEnded: () => turn.log.hasEnded,
    contextOf(extension) {
      const context = contexts.get(extension) ?? extensionContext(turn, () => stateOf(turn).states.of(extension.name))
      contexts.set(extension, context)
      return context
    },
    onError({ extension, hook, message, fatal }) {
      turn.log.note({ type: 'error', source: 'extension', name: extension, hook, message, fatal })
      if (!fatal) return
      const error = { code: 'extension-error' as const, message: `${extension}.${hook}: ${message}` }
      turn.stop.stop({ kind: 'stop', status: 'error', reason: 'extension-error', error, message })
    },
  })
}

async function instruct(turn: Turn, calls: HandlerCalls, { input }: Segment): Promise<void> {
  const { instructions, append } = await askAgentStart(calls, { input, instructions: turn.instructions })
  turn.instructions = instructions
  // Appended inputs belong to the turn, not to its segment.
  if (!turn.isUntouched) return
  for (const extra of append)
    placeInput(turn, 'turn-start', { inputId: turn.ids.next('input'), source: 'notify', input: deepFreeze(extra) })
}

async function patchRequest(turn: Turn, calls: HandlerCalls, request: RequestDraft): Promise<void> {
  const { instructions, messages, tools, runtimeParams } = request
  const patch = await askRequest(calls, {
    instructions,
    messages,
    tools: tools.map(({ name }) => name),
    runtimeParams,
    attempt: turn.attempt,
  })
  const { activeTools, shownTools, toolChoice } = patch
  if (activeTools) {
    turn.activeTools = new Set(activeTools)
    request.tools = turn.agent.declarations.filter(({ name }) => activeTools.includes(name))
  }
  if (shownTools) request.tools = request.tools.filter(({ name }) => shownTools.includes(name))
  if (toolChoice !== undefined) request.toolChoice = toolChoice
  if (!patch.runtimeParams) return
  request.runtimeParams = mergeRuntimeParams(runtimeParams, patch.runtimeParams)
  request.instructions = patch.runtimeParams.systemPrompt ?? instructions
}

function readVerdict(turn: Turn, call: Call, verdict: CallVerdict): Outcome | undefined | Promise<Outcome> {
  switch (verdict.action) {
    case 'allow':
      if (verdict.modified) {
        call.row = { ...call.row, input: verdict.modified.input }
        call.input = verdict.modified.value
      }
      return undefined
    case 'reject-and-continue':
      return deniedOutcome(verdict.message)
    case 'synthesize':
      return valueOutcome(undefined, describeCall(call), verdict, 'no')
    case 'error':
      turn.stop.stop({ kind: 'stop', status: 'error', reason: 'policy-error', error: { code: 'policy-error', message: verdict.message } })
      return errorOutcome(verdict.message, 'no')
    case 'stopped':
      return cancelledOutcome('the run was stopped', 'no')
    default:
      return verdict satisfies never
  }
}

async function patchOutcome(turn: Turn, calls: HandlerCalls, ended: EndedCall): Promise<void> {
  const { latestAnswer } = turn.transcript
  const neverResult = latestAnswer === undefined || neverRan(latestAnswer)
  const { terminate, ...rest } = await askResult(calls, describeCall(ended.call), ended.outcome, neverResult)
  ended.outcome = { ...rest, ...(terminate && { terminate }) }
}
