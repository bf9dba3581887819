import { mergeRuntimeParams } from '@bowline/llm'
import type { JSONValue, Message, SchemaIssue, SchemaResult, UserMessage } from '@bowline/llm'
import { optional } from '../../base/fields.ts'
import type { MaybePromise } from '../../base/promises.ts'
import type { CallDecision, CompactionDecision, HookedCall, HookedResult, RequestPatch } from '../../contract/extension.ts'
import type { HandlerCalls, HookEvent } from './call-handlers.ts'
import {
  patchResult,
  readAgentStart,
  readCallDecision,
  readCompactionDecision,
  readInputDecision,
  readMessages,
  readRequestPatch,
  readResultPatch,
} from './returned-values.ts'

/** Verdict of the hooks on an input. A transformed input is in its stored form. */
type InputVerdict =
  | { readonly action: 'continue' }
  | { readonly action: 'transform'; readonly input: UserMessage }
  | { readonly action: 'handled'; readonly reply?: string; readonly extension: string }

interface AgentStartVerdict {
  readonly instructions: string
  readonly append: readonly UserMessage[]
}

/**
 * Verdict of the hooks on a call. `modified` is present if a hook changed the input: `input` for the row, hooks and events, `value`
 * for the tool. `stopped`: the run ended first, and the call has not been allowed.
 */
export type CallVerdict =
  | { readonly action: 'allow'; readonly modified?: { readonly input: JSONValue; readonly value: JSONValue } }
  | (Exclude<CallDecision, { action: 'allow' | 'modify' }> & { readonly extension: string })
  | { readonly action: 'stopped' }

/*
 * One function for each hook that decides something. It combines the answers of the hook's handlers. None rejects: a handler that
 * fails leaves the last good value.
 */

export async function askInput(calls: HandlerCalls, { input, source }: HookEvent<'onInput'>): Promise<InputVerdict> {
  let verdict: InputVerdict = { action: 'continue' }
  await calls.ask('onInput', {
    event: () => ({ input: verdict.action === 'transform' ? verdict.input : input, source }),
    take: (returned, { name }) => {
      const decision = readInputDecision(returned)
      if (decision.action === 'transform') verdict = decision
      if (decision.action !== 'handled') return 'go-on'
      verdict = { ...decision, extension: name }
      return 'end'
    },
  })
  return verdict
}

export async function askAgentStart(calls: HandlerCalls, event: HookEvent<'beforeAgentStart'>): Promise<AgentStartVerdict> {
  let { instructions } = event
  const append: UserMessage[] = []
  await calls.ask('beforeAgentStart', {
    event: () => ({ input: event.input, instructions }),
    take: (returned) => {
      const read = readAgentStart(returned)
      instructions = read.instructions || instructions
      append.push(...read.append)
      return 'go-on'
    },
  })
  return { instructions, append }
}

export async function askContext(calls: HandlerCalls, given: readonly Message[]): Promise<readonly Message[]> {
  let messages = given
  await calls.ask('transformContext', {
    event: () => ({ messages }),
    take: (returned) => {
      messages = readMessages(returned, messages)
      return 'go-on'
    },
  })
  return messages
}

export async function askRequest(calls: HandlerCalls, event: HookEvent<'beforeModelCall'>): Promise<RequestPatch> {
  let patch: RequestPatch = {}
  const { runtimeParams, tools } = event
  await calls.ask('beforeModelCall', {
    event: () => ({
      ...event,
      runtimeParams: mergeRuntimeParams(runtimeParams, patch.runtimeParams),
      tools: tools.filter((name) => isIn(patch.activeTools, name) && isIn(patch.shownTools, name)),
    }),
    take: (returned) => {
      const next = readRequestPatch(returned)
      const params = next.runtimeParams && mergeRuntimeParams(patch.runtimeParams, next.runtimeParams)
      patch = { ...patch, ...next, ...optional('runtimeParams', params) }
      return 'go-on'
    },
  })
  return patch
}

function isIn(names: readonly string[] | undefined, name: string): boolean {
  return names?.includes(name) ?? true
}

/** `validate` checks the input of a `modify` like the model's own input. */
export async function askCall(
  calls: HandlerCalls,
  call: HookedCall,
  validate: (input: JSONValue) => MaybePromise<SchemaResult>,
): Promise<CallVerdict> {
  let verdict: CallVerdict = { action: 'allow' }
  const input = (): JSONValue => (verdict.action === 'allow' && verdict.modified ? verdict.modified.input : call.input)
  const end = (decided: CallVerdict): 'end' => {
    verdict = decided
    return 'end'
  }
  await calls.ask('onToolCall', {
    event: () => ({ call: { ...call, input: input() }, input: input() }),
    take: async (returned, { name }) => {
      const decision = readCallDecision(returned)
      if (decision.action === 'allow') return 'go-on'
      if (decision.action !== 'modify') return end({ ...decision, extension: name })
      const checked = await validate(decision.input)
      if (!checked.ok) throw new TypeError(`the modified input is not valid: ${textOf(checked.issues)}`)
      verdict = { action: 'allow', modified: { input: decision.input, value: checked.value } }
      return 'go-on'
    },
    failed: ({ message }, { name, onError = 'reject' }) => {
      return onError === 'ignore'
        ? 'go-on'
        : end({ action: 'reject-and-continue', message: `the extension ${name} failed: ${message}`, extension: name })
    },
    stopped: () => end({ action: 'stopped' }),
  })
  return verdict
}

function textOf(issues: readonly SchemaIssue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
}

/** With `neverResult`, a patch that turns the outcome into a `result` is invalid. */
export async function askResult(calls: HandlerCalls, call: HookedCall, given: HookedResult, neverResult = false): Promise<HookedResult> {
  let result = given
  await calls.ask('onToolResult', {
    // Content that a hook removes from a result must not be stored because the run is stopped.
    patient: true,
    event: () => ({ call, result, status: result.status }),
    take: (returned) => {
      const patched = patchResult(result, readResultPatch(returned))
      if (neverResult && patched.status === 'result') throw new TypeError('a call of an answer that was cut off cannot have a result')
      result = patched
      return 'go-on'
    },
  })
  return result
}

export function askSettled(calls: HandlerCalls, event: HookEvent<'onToolSettled'>): Promise<void> {
  return calls.ask('onToolSettled', { patient: true, event: () => event, take: () => 'go-on' })
}

export async function askCompaction(calls: HandlerCalls, event: HookEvent<'beforeCompaction'>): Promise<CompactionDecision | undefined> {
  const added: string[] = []
  let decided: CompactionDecision | undefined
  await calls.ask('beforeCompaction', {
    event: () => ({ ...event, ...optional('instructions', paragraphs(event.instructions, ...added)) }),
    take: (returned, { name }) => {
      const decision = readCompactionDecision(returned, event.messages)
      if (!decision) return 'go-on'
      if ('cancel' in decision) decided = { cancel: true, reason: decision.reason ?? `the extension ${name} requested it` }
      else if ('compaction' in decision) decided = decision
      else if (decision.instructions) added.push(decision.instructions)
      return decided ? 'end' : 'go-on'
    },
  })
  const instructions = paragraphs(...added)
  return decided ?? (instructions === undefined ? undefined : { instructions })
}

function paragraphs(...texts: readonly (string | undefined)[]): string | undefined {
  return texts.filter(Boolean).join('\n\n') || undefined
}
