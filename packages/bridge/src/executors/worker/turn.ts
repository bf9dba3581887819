import type { PromptResponse, RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { JSONObject, Usage } from '@bowline/llm'
import type { AnswersContext, BridgeEvent, CancelReason, PromptContext, PromptResult, StopReason } from '../../agent.ts'
import { BridgeError } from '../../errors.ts'
import { bowlineMeta, recordOf } from '../../worker/meta.ts'
import type { PromptMeta } from '../../worker/meta.ts'
import { bridgeErrorOf, isRequestError } from '../../worker/wire-error.ts'
import { joinParts } from './event-parts.ts'
import { createEventQueue } from './event-queue.ts'
import { createPermissions, refused } from './permissions.ts'
import type { LiveWorker } from './supervisor.ts'
import type { Update } from './updates.ts'

const requestCancelled = -32800
// Above this size, the text of a foreign worker is not kept for the result: the bridge already has it from the deltas.
const maxKeptCharacters = 16 * 1024 * 1024

/** One running prompt in one process. */
export interface Turn {
  readonly requestId: string
  readonly live: LiveWorker
  /** Resolves with `done` at the end of the prompt. Rejects with the worker's error, or with a `LostWorker`. */
  next(): Promise<IteratorResult<BridgeEvent, undefined>>
  /** Discards further events: there is no reader any more. */
  leave(): void
  onUpdate(update: Update, bytes: number): Promise<void> | undefined
  onPermission(request: RequestPermissionRequest): Promise<RequestPermissionResponse>
  answer(request: AnswersContext): Promise<boolean>
  cancel(reason: CancelReason): Promise<void>
}

/** Thrown if the process is lost while the prompt runs. */
export class LostWorker extends Error {
  override readonly name = 'LostWorker'
}

export interface TurnOptions {
  readonly live: LiveWorker
  readonly acpId: string
  readonly request: PromptContext
  readonly permissions: 'ask' | 'deny'
  /** Called if an answer arrives after the reader has left. */
  readonly onLate: () => void
}

export function startTurn({ live, acpId, request, permissions, onLate }: TurnOptions): Turn {
  const { connection, hello } = live
  const { requestId, session } = request
  const queue = createEventQueue()
  const asked = createPermissions(() => void queue.push({ type: 'needs-input', pending: asked.pending }, 0))
  const kept = keepText()
  let usage: Usage | undefined
  const parts = joinParts()
  let over = false
  let left = false

  function end(error?: unknown): void {
    if (over) return
    over = true
    live.gone.removeEventListener('abort', lost)
    asked.cancel()
    queue.end(error)
    if (left && !live.gone.aborted) onLate()
  }

  /** Returns undefined if the events already contain the whole result. */
  function resultOf(response: PromptResponse): PromptResult | undefined {
    const { result } = bowlineMeta(response)
    if (result !== undefined) return result as PromptResult
    const stopReason = stopReasonOf(response.stopReason)
    const used = usageOf(response) ?? usage
    if (hello.ours || (stopReason === 'end_turn' && used === undefined)) return undefined
    const text = kept.text()
    // The bridge has the text from the deltas, and there is nothing else to report.
    if (text === undefined && stopReason === 'end_turn') return undefined
    if (text === undefined) throw tooLarge(session.agentId)
    return { text, stopReason, ...(used && { usage: used }) }
  }

  function answered(response: PromptResponse): void {
    try {
      const result = resultOf(response)
      if (result) void queue.push({ type: 'result', result }, 0)
      end()
    } catch (error) {
      end(error)
    }
  }

  function failed(error: unknown): void {
    // If the worker sent no error, its process is gone, and `lost` reports why.
    if (!isRequestError(error)) return
    if (request.abortSignal.aborted && error.code === requestCancelled) answered({ stopReason: 'cancelled' })
    else end(bridgeErrorOf(error, { agentId: session.agentId, sessionId: session.sessionId, requestId }))
  }

  function lost(): void {
    end(new LostWorker(String(live.gone.reason)))
  }

  live.gone.addEventListener('abort', lost)
  if (live.gone.aborted) lost()
  connection.prompt(acpId, request.prompt, promptMeta(request)).then(answered, failed)

  return {
    requestId,
    live,
    next: () => queue.next(),
    leave() {
      left = true
      queue.leave()
    },
    onUpdate(update, bytes) {
      usage = update.usage ?? usage
      const event = update.part ? parts.add(update.part) : update.event
      if (!event) return undefined
      if (!hello.ours && event.type === 'text-delta') kept.add(event.delta)
      return queue.push(event, bytes)
    },
    onPermission: (given) => (permissions === 'deny' ? Promise.resolve(refused(given.options)) : asked.ask(given)),
    async answer({ answers }) {
      if (asked.answer(answers)) return true
      return hello.ours && connection.answer({ sessionId: acpId, requestId, answers })
    },
    async cancel(reason) {
      asked.cancel()
      await connection.cancel(acpId, { requestId, reason })
    },
  }
}

function promptMeta({ requestId, runtimeParams, deadlineAt, answers }: PromptContext): PromptMeta {
  return {
    requestId,
    runtimeParams: runtimeParams as JSONObject,
    ...(deadlineAt !== undefined && { deadlineAt }),
    ...(answers && { answers }),
  }
}

/** Collects the text of a foreign worker, up to the limit. */
function keepText(): { add(delta: string): void; text(): string | undefined } {
  let text: string | undefined = ''
  return {
    add(delta) {
      if (text === undefined) return
      text += delta
      if (text.length > maxKeptCharacters) text = undefined
    },
    text: () => text,
  }
}

const stopReasons: readonly StopReason[] = ['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled']

function stopReasonOf(said: unknown): StopReason {
  return stopReasons.find((reason) => reason === said) ?? 'other'
}

const usageNames = {
  inputTokens: 'inputTokens',
  outputTokens: 'outputTokens',
  totalTokens: 'totalTokens',
  thoughtTokens: 'reasoningTokens',
  cachedReadTokens: 'cacheReadTokens',
  cachedWriteTokens: 'cacheWriteTokens',
} as const

/** Reads the usage, which the stable protocol lacks but many workers send. */
function usageOf(response: PromptResponse): Usage | undefined {
  const said = recordOf(recordOf(response)['usage'])
  const counts = Object.entries(usageNames).flatMap(([theirs, own]) => (Number.isSafeInteger(said[theirs]) ? [[own, said[theirs]]] : []))
  return counts.length > 0 ? (Object.fromEntries(counts) as Usage) : undefined
}

function tooLarge(agentId: string): BridgeError {
  return new BridgeError('UPSTREAM', `The result of agent ${agentId} is over ${maxKeptCharacters} characters`, {
    details: { reason: 'result-too-large', agentId },
  })
}
