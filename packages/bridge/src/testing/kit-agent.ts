import { BridgeError } from '../errors.ts'
import type { Answer, BridgeAgent, BridgeEvent, PendingInput, PromptContext, PromptResult, SessionContext } from '../agent.ts'

export interface KitAgentOptions {
  /** Default `kit`. */
  readonly id?: string
  /** Told what the agent goes through: `create`, `prompt <text>`, `abort`, `cancel <reason>`, `answers`, `close <reason>`. */
  readonly note: (line: string) => void
}

/** What the kit expects of an executor's agent: the first word of each prompt says what to do. */
export const kitWords = [
  /** The rest of the prompt, as an answer. */
  'say',
  /** The other words as deltas, and no result. */
  'stream',
  /** A result with all that a result can have, after a delta and some progress. */
  'result',
  /** A result, and more after it. */
  'more',
  /** The context of the prompt, as a structured result. */
  'see',
  /** As many characters as the next word says. */
  'long',
  /** A delta `waiting`, then nothing until it is stopped. */
  'wait',
  /** As `wait`, and then a result nevertheless. */
  'late',
  /** A delta `waiting`, then nothing, also when it is stopped. */
  'stubborn',
  /** Throws something with a secret. */
  'fail',
  /** Throws a typed error that says that a repeat may help. */
  'refuse',
  /** Throws a typed error that says that the session is no more. */
  'break',
  /** Ends its turn with an approval pending; the next turn says what was answered. */
  'ask',
  /** Waits for an approval with its stream open, then says what was answered. */
  'hold',
] as const

export type KitWord = (typeof kitWords)[number]

export const kitApproval: PendingInput = { id: 'approval-1', kind: 'approval', toolName: 'pay', input: { amount: 5, note: null } }

export const kitResult: PromptResult = {
  text: 'whole',
  stopReason: 'max_tokens',
  structured: { snake_case: 1, camelCase: [null, 1.5, { deep: '' }], z: true, a: null },
  usage: { inputTokens: 12, outputTokens: 3 },
}

/**
 * An agent that does what the prompt says. Its `metadata` decide about its hooks: `create` may be `refuse` or `hang`,
 * `close` may be `throw`.
 */
export function kitAgent({ id = 'kit', note }: KitAgentOptions): BridgeAgent {
  // Who waits for answers with an open stream.
  const held = new Map<string, (answers: readonly Answer[]) => void>()
  return {
    specificationVersion: 'v1',
    info: { id },
    capabilities: ['kit'],
    onSessionCreate: (session) => create(session, note),
    async *onPrompt(request) {
      note(request.answers ? 'answers' : `prompt ${request.prompt}`)
      const noteAbort = (): void => note('abort')
      request.abortSignal.addEventListener('abort', noteAbort, { once: true })
      try {
        yield* eventsOf(request, held)
      } finally {
        request.abortSignal.removeEventListener('abort', noteAbort)
      }
    },
    onAnswers({ session, answers }) {
      note('answers')
      held.get(session.sessionId)?.(answers)
    },
    onCancel: ({ reason }) => note(`cancel ${reason}`),
    onSessionClose({ metadata }, reason) {
      note(`close ${reason}`)
      if (metadata['close'] === 'throw') throw new Error('the close hook failed')
    },
  }
}

async function create({ metadata }: SessionContext, note: (line: string) => void): Promise<void> {
  note('create')
  if (metadata['create'] === 'hang') await never
  // Whoever does not wait for the hook is ahead of it.
  await new Promise((resolve) => setImmediate(resolve))
  if (metadata['create'] === 'refuse') throw new BridgeError('CAPACITY', 'No room', { retryable: false, details: { reason: 'kit' } })
  note('created')
}

async function* eventsOf(request: PromptContext, held: Map<string, (answers: readonly Answer[]) => void>): AsyncGenerator<BridgeEvent> {
  if (request.answers) return yield says(request.answers)
  const [word = '', ...rest] = request.prompt.split(' ')
  switch (word as KitWord) {
    case 'say':
      return yield result(rest.join(' '))
    case 'stream':
      for (const delta of rest) yield { type: 'text-delta', delta }
      return
    case 'result':
      yield { type: 'text-delta', delta: 'not the whole' }
      yield { type: 'progress', message: 'half', progress: 1, total: 2 }
      return yield { type: 'result', result: kitResult }
    case 'more':
      yield result('first')
      yield { type: 'text-delta', delta: 'more' }
      return yield result('second')
    case 'see':
      return yield { type: 'result', result: { text: '', stopReason: 'end_turn', structured: seen(request) } }
    case 'long':
      return yield result('x'.repeat(Number(rest[0])))
    case 'wait':
      yield waiting
      await stopped(request.abortSignal)
      return
    case 'late':
      yield waiting
      await stopped(request.abortSignal)
      return yield result('too late')
    case 'stubborn':
      yield waiting
      return await never
    case 'fail':
      throw new Error('the secret of the agent')
    case 'refuse':
      throw new BridgeError('UPSTREAM', 'Too many', { retryable: true, details: { reason: 'rate-limit', retryAfterMs: 1500 } })
    case 'break':
      throw new BridgeError('UPSTREAM', 'It broke', { retryable: true, details: { sessionValid: false } })
    case 'ask':
      return yield { type: 'result', result: { text: 'asking', stopReason: 'needs_input', pending: [kitApproval] } }
    case 'hold':
      return yield* hold(request, held)
    default:
      throw new Error(`The kit has no word ${word}`)
  }
}

async function* hold({ session, abortSignal }: PromptContext, held: Map<string, (answers: readonly Answer[]) => void>): AsyncGenerator<BridgeEvent> {
  const answered = new Promise<readonly Answer[]>((resolve) => held.set(session.sessionId, resolve))
  yield { type: 'needs-input', pending: [kitApproval] }
  const answers = await Promise.race([answered, stopped(abortSignal)])
  held.delete(session.sessionId)
  if (answers) yield says(answers)
}

function seen({ session, runtimeParams, requestId, deadlineAt }: PromptContext) {
  const { metadata, owner, agentId, depth } = session
  const text = JSON.stringify({ metadata, owner, agentId, depth, runtimeParams, requestId, hasDeadline: deadlineAt !== undefined })
  return JSON.parse(text) as NonNullable<PromptResult['structured']>
}

function says(answers: readonly Answer[]): BridgeEvent {
  return result(answers.map((answer) => ('decision' in answer ? answer.decision : 'other')).join(' '))
}

function result(text: string): BridgeEvent {
  return { type: 'result', result: { text, stopReason: 'end_turn' } }
}

const waiting: BridgeEvent = { type: 'text-delta', delta: 'waiting' }

const never = new Promise<never>(() => {})

async function stopped(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  return undefined
}
