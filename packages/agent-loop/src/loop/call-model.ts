import { streamMessage } from '@bowline/llm'
import type { AssistantMessage, BlockEvent, MessageStream, ToolCallPart } from '@bowline/llm'
import type { DeltaEvent } from '../events/types.ts'
import { deepFreeze } from '../json.ts'
import { clientCalls } from '../transcript/client-calls.ts'
import type { Turn } from './turn.ts'

/**
 * Stores the beginning of the call, calls the model, and drafts its answer. Nothing is drafted when the run is to be
 * left while the model still spoke: the call is then made again by whoever goes on.
 */
export async function callModel(turn: Turn): Promise<AssistantMessage | undefined> {
  await turn.commit()
  await macrotask()
  const answer = await streamAnswer(turn)
  if (turn.stop.leaving && answer.stopReason === 'aborted') return undefined
  turn.takeAnswer(answer)
  // What it cost must not be lost when the process dies while the tools run.
  if (clientCalls(answer).length > 0) turn.writeRun('running')
  return answer
}

/** A model that answers at once must not starve timers. */
function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    const onMessage = (): void => {
      port1.close()
      resolve()
    }
    port1.addEventListener('message', onMessage, { once: true })
    port1.start()
    port2.postMessage(undefined)
  })
}

async function streamAnswer(turn: Turn): Promise<AssistantMessage> {
  const calls = new CallIds(turn)
  for await (const event of openStream(turn)) {
    if (event.type === 'message-end') return calls.renameIn(event.message)
    if (event.type !== 'message-start') turn.publish(deltaOf(turn, event, calls))
  }
  throw new Error('the model stream ended without its last event')
}

function openStream(turn: Turn): MessageStream {
  const { agent, transcript, messageId, stop, clock } = turn
  return streamMessage({
    model: agent.model,
    messages: transcript.view,
    tools: agent.declarations,
    abortSignal: stop.signal,
    ...{ messageId, clock },
    ...(agent.instructions !== '' && { instructions: agent.instructions }),
  })
}

function deltaOf(turn: Turn, event: BlockEvent, calls: CallIds): DeltaEvent {
  const at = turn.clock.now()
  const { runId, number, step, messageId } = turn
  const { index } = event
  switch (event.type) {
    case 'text-start':
    case 'reasoning-start':
      return { type: event.type, at, runId, turn: number, step, messageId, index }
    case 'text-delta':
    case 'reasoning-delta':
      return { type: event.type, at, runId, turn: number, step, messageId, index, delta: event.delta }
    case 'text-end':
    case 'reasoning-end':
      return { type: event.type, at, runId, turn: number, step, messageId, index, text: event.text }
    case 'tool-call-start': {
      const toolCallId = calls.open(event)
      const base = { type: event.type, at, runId, turn: number, step, messageId, index, toolCallId, toolName: event.toolName }
      return event.providerExecuted ? { ...base, providerExecuted: true } : base
    }
    case 'tool-call-delta': {
      const toolCallId = calls.at(index)
      return { type: event.type, at, runId, turn: number, step, messageId, index, toolCallId, delta: event.delta }
    }
    case 'tool-call-end': {
      const toolCall = deepFreeze(calls.rename(event.toolCall))
      const { toolCallId } = toolCall
      return { type: event.type, at, runId, turn: number, step, messageId, index, toolCallId, toolCall }
    }
    case 'content-part':
      return { type: event.type, at, runId, turn: number, step, messageId, index, part: deepFreeze(event.part) }
    default: {
      const unknown: never = event
      return unknown
    }
  }
}

/** The ids of the calls of one answer. Some providers count them anew in each answer: an id that was used is changed. */
class CallIds {
  readonly #turn: Turn
  readonly #byIndex = new Map<number, string>()
  readonly #renamed = new Map<string, string>()

  constructor(turn: Turn) {
    this.#turn = turn
  }

  open({ index, toolCallId, providerExecuted }: Extract<BlockEvent, { type: 'tool-call-start' }>): string {
    const id = providerExecuted ? toolCallId : this.#idFor(toolCallId)
    this.#byIndex.set(index, id)
    return id
  }

  at(index: number): string {
    return this.#byIndex.get(index) ?? ''
  }

  rename(call: ToolCallPart): ToolCallPart {
    return call.providerExecuted ? call : { ...call, toolCallId: this.#idFor(call.toolCallId) }
  }

  renameIn(message: AssistantMessage): AssistantMessage {
    if ([...this.#renamed].every(([given, id]) => given === id)) return message
    return { ...message, content: message.content.map((part) => (part.type === 'tool-call' ? this.rename(part) : part)) }
  }

  #idFor(given: string): string {
    const known = this.#renamed.get(given)
    if (known !== undefined) return known
    let id = given
    for (let copy = 2; this.#isTaken(id); copy++) id = `${given}~${copy}`
    this.#renamed.set(given, id)
    return id
  }

  #isTaken(id: string): boolean {
    return this.#turn.transcript.hasCall(id) || [...this.#renamed.values()].includes(id)
  }
}
