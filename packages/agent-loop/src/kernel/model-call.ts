import { classifyError, costOf, readEvents, streamMessage } from '@bowline/llm'
import type { AssistantMessage, AssistantPart, BlockEvent, SentRequest, ToolCallPart } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import { hashJson } from '../base/hash-json.ts'
import type { DeltaEvent } from '../events/agent-event.ts'
import { weigh } from '../transcript/estimate.ts'
import type { Transcript } from '../transcript/transcript.ts'
import { consult } from './plugin.ts'
import { prefixOf } from './request-prefix.ts'
import type { ModelAnswer, RequestDraft, StepPlan } from './subjects.ts'
import type { Turn } from './turn.ts'

/** Makes one attempt, from its request to its answer. Must not reject, whatever a model or its function does. */
export async function callModel(turn: Turn, plan: StepPlan): Promise<ModelAnswer> {
  const [buffered, ...later] = turn.bufferedAnswers
  if (buffered) {
    turn.bufferedAnswers = later
    return publishWhole(turn, buffered)
  }
  if (turn.stop.requested) return failedAnswer(turn, turn.stop.signal.reason)
  const request = requestOf(turn, plan)
  const shown = consult(turn, 'context', request)
  if (shown) await shown
  const asked = consult(turn, 'request', request)
  if (asked) await asked
  if (turn.stop.requested) return failedAnswer(turn, turn.stop.signal.reason)
  try {
    return await ((consult(turn, 'model', request) as Promise<ModelAnswer> | undefined) ?? streamedAnswer(turn, request))
  } catch (error) {
    const failed = failedAnswer(turn, error)
    // The model was asked, and its usage is not known.
    return failed.message.stopReason === 'aborted' ? withEstimate(turn, failed) : failed
  }
}

function requestOf(turn: Turn, { patch, params }: StepPlan): RequestDraft {
  const { agent, transcript, activeTools } = turn
  return {
    target: turn.model,
    instructions: patch.instructions ?? params.systemPrompt ?? turn.instructions,
    messages: patch.messages ?? transcript.view,
    // The agent's own array, as long as all tools are active, so that it is converted only once.
    tools: activeTools ? agent.declarations.filter(({ name }) => activeTools.has(name)) : agent.declarations,
    runtimeParams: params,
    toolChoice: patch.toolChoice ?? agent.toolChoice,
  }
}

/** Streams the answer of a provider's model. Throws `LlmError` for a request that can never work. */
async function streamedAnswer(turn: Turn, request: RequestDraft): Promise<ModelAnswer> {
  const { target, messages, tools, instructions, runtimeParams: params, toolChoice, output } = request
  if (target.kind !== 'model') throw new TypeError('the agent has no plug-in for model functions')
  const { models } = turn.agent
  const { model: _chosen, systemPrompt: _prompt, ...runtimeParams } = params
  const prefix = prefixOf(turn, request)
  const { cache, miss } = prefix instanceof Promise ? await prefix : prefix
  const stream = streamMessage({
    model: target.model,
    messages,
    tools,
    runtimeParams,
    abortSignal: turn.stop.signal,
    messageId: turn.messageId,
    clock: turn.clock,
    cache,
    ...(miss && {
      telemetry: { metadata: { cache_miss: miss.part === 'message' ? `message ${miss.index}` : `${miss.part} ${miss.name}` } },
    }),
    ...(models && { models }),
    ...(instructions !== '' && { instructions }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(output && { output }),
    ...(turn.plugins.sent.asks.length > 0 && { onRequest: (sent) => tellSent(turn, sent) }),
  })
  const publisher = new DeltaPublisher(turn)
  const message = await readEvents(stream, (event) => {
    if (event.type !== 'message-start' && event.type !== 'message-end') publisher.publish(event)
  })
  const answer = publisher.named({ message, results: new Map() })
  return miss ? { ...answer, cacheMiss: miss } : answer
}

async function tellSent(turn: Turn, request: SentRequest): Promise<void> {
  const { messageId: id, attempt, model } = turn
  await consult(turn, 'sent', { id, purpose: 'answer', attempt, model: model.name, request })
}

/** Publishes an answer that came whole, with one delta per block. */
export function publishWhole(turn: Turn, { message, results }: ModelAnswer): ModelAnswer {
  const publisher = new DeltaPublisher(turn)
  const named = { ...message, id: turn.messageId }
  for (const [index, part] of named.content.entries()) publishPart(publisher, index, part)
  return publisher.named({ message: named, results })
}

function publishPart(publisher: DeltaPublisher, index: number, part: AssistantPart): void {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      publisher.publish({ type: `${part.type}-start`, index })
      if (part.text !== '') publisher.publish({ type: `${part.type}-delta`, index, delta: part.text })
      return publisher.publish({ type: `${part.type}-end`, index, text: part.text })
    case 'tool-call': {
      const { toolCallId, toolName, providerExecuted, inputText } = part
      publisher.publish({ type: 'tool-call-start', index, toolCallId, toolName, ...(providerExecuted && { providerExecuted }) })
      publisher.publish({ type: 'tool-call-delta', index, delta: inputText ?? JSON.stringify(part.input) })
      return publisher.publish({ type: 'tool-call-end', index, toolCall: part })
    }
    default:
      return publisher.publish({ type: 'content-part', index, part })
  }
}

/** Converts the model's stream to the live events of one message. Its state does not grow with the message. */
export class DeltaPublisher {
  readonly #turn: Turn
  readonly #ids: CallIds
  readonly #runId: string
  readonly #number: number
  readonly #step: number
  readonly #messageId: string

  constructor(turn: Turn) {
    this.#turn = turn
    this.#ids = new CallIds(turn.transcript)
    this.#runId = turn.runId
    this.#number = turn.number
    this.#step = turn.step
    this.#messageId = turn.messageId
  }

  publish(event: BlockEvent): void {
    this.#turn.publish(this.#eventOf(event))
  }

  /** Returns the answer with the ids by which readers know its calls. */
  named({ message, results }: ModelAnswer): ModelAnswer {
    return { message: this.#ids.renameIn(message), results: results.size === 0 ? results : this.#ids.renameResults(results) }
  }

  #eventOf(event: BlockEvent): DeltaEvent {
    const at = this.#turn.clock.now()
    const runId = this.#runId
    const turn = this.#number
    const step = this.#step
    const messageId = this.#messageId
    const { index } = event
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
        return { type: event.type, at, runId, turn, step, messageId, index, delta: event.delta }
      case 'text-start':
      case 'reasoning-start':
        return { type: event.type, at, runId, turn, step, messageId, index }
      case 'text-end':
      case 'reasoning-end':
        return { type: event.type, at, runId, turn, step, messageId, index, text: event.text }
      case 'tool-call-start': {
        const { toolName, providerExecuted = false } = event
        const toolCallId = this.#ids.open(index, event.toolCallId, providerExecuted)
        const base = { type: event.type, at, runId, turn, step, messageId, index, toolCallId, toolName }
        return providerExecuted ? { ...base, providerExecuted } : base
      }
      case 'tool-call-delta':
        return { type: event.type, at, runId, turn, step, messageId, index, toolCallId: this.#ids.at(index), delta: event.delta }
      case 'tool-call-end': {
        const toolCall = deepFreeze(this.#ids.rename(event.toolCall))
        return { type: event.type, at, runId, turn, step, messageId, index, toolCallId: toolCall.toolCallId, toolCall }
      }
      case 'content-part':
        return { type: event.type, at, runId, turn, step, messageId, index, part: deepFreeze(event.part) }
      default: {
        const unknown: never = event
        return unknown
      }
    }
  }
}

/** Longer ids cannot be keys in every store. */
const longestId = 800

/**
 * The ids of the calls of one answer. Some providers start counting again in each answer: an id that was used before is changed.
 * An id that no store or JSON parser could keep becomes its hash.
 */
class CallIds {
  readonly #transcript: Transcript
  /** Ids by the index of their block. */
  readonly #byIndex: string[] = []
  readonly #given = new Map<string, string>()
  readonly #taken = new Set<string>()

  constructor(transcript: Transcript) {
    this.#transcript = transcript
  }

  open(index: number, given: string, providerExecuted: boolean): string {
    return (this.#byIndex[index] = providerExecuted ? given : this.#idFor(given))
  }

  at(index: number): string {
    return this.#byIndex[index] ?? ''
  }

  rename(call: ToolCallPart): ToolCallPart {
    if (call.providerExecuted) return call
    const toolCallId = this.#idFor(call.toolCallId)
    return toolCallId === call.toolCallId ? call : { ...call, toolCallId }
  }

  renameIn(message: AssistantMessage): AssistantMessage {
    let renamed = false
    const content = message.content.map((part) => {
      const named = part.type === 'tool-call' ? this.rename(part) : part
      renamed ||= named !== part
      return named
    })
    return renamed ? { ...message, content } : message
  }

  renameResults(results: ModelAnswer['results']): ModelAnswer['results'] {
    return new Map([...results].map(([id, result]) => [this.#idFor(id), result]))
  }

  #idFor(given: string): string {
    const known = this.#given.get(given)
    if (known !== undefined) return known
    const wanted = given.length > longestId || !given.isWellFormed() ? hashJson(given) : given
    const id = this.#transcript.freeCallId(wanted, (candidate) => this.#taken.has(candidate))
    this.#given.set(given, id)
    this.#taken.add(id)
    return id
  }
}

const noUsage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }

/** Returns the answer of a call that could not be made, or whose function threw. */
export function failedAnswer(turn: Turn, error: unknown): ModelAnswer {
  const { name } = turn.model
  const base = {
    role: 'assistant' as const,
    id: turn.messageId,
    content: [],
    ...name,
    usage: {},
    at: turn.clock.now(),
    timing: { totalMs: 0 },
  }
  const message: AssistantMessage = turn.stop.requested
    ? { ...base, stopReason: 'aborted', usage: noUsage, ...abortReasonOf(turn) }
    : { ...base, stopReason: 'error', error: classifyError(error, { ...name, now: turn.clock.now() }) }
  return { message, results: new Map() }
}

function abortReasonOf({ stop }: Turn): { abortReason?: string } {
  const { reason } = stop.signal as { reason: unknown }
  return reason instanceof Error ? { abortReason: reason.message } : {}
}

/** Returns the answer with an estimate of the usage, flagged as such. */
export function withEstimate(turn: Turn, answer: ModelAnswer): ModelAnswer {
  const { message } = answer
  const inputTokens = turn.contextTokens()
  const outputTokens = Math.ceil(turn.transcript.estimate.tokensOf(weigh(message)))
  const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, estimated: true } as const
  const cost = costOf(usage, turn.model.info.price)
  return { ...answer, message: { ...message, usage, ...(cost && { cost }) } }
}
