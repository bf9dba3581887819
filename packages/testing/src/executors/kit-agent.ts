import type { JSONValue } from '@bowline/llm'
import { configChecks as check } from './checks.ts'
import { BridgeError } from '@bowline/bridge'
import type { Answer, BridgeAgent, BridgeEvent, PendingInput, PromptContext, PromptResult, SessionContext } from '@bowline/bridge'

/** Id and recorder of a `kitAgent`. */
export interface KitAgentOptions {
  /** Id of the agent. Default `kit`. */
  readonly id?: string
  /**
   * Called with each step of the agent: `create`, `created`, `prompt <text>`, `answers`, `abort`, `cancel <reason>`, `close
   * <reason>`.
   */
  readonly note: (line: string) => void
}

/** First word of a prompt to the agent under test: it selects the behaviour. */
export type KitWord =
  /** Answers with the rest of the prompt. */
  | 'say'
  /** Sends the other words as deltas, and no result. */
  | 'stream'
  /** Sends a delta, some progress, then `kitResult`. */
  | 'result'
  /** Sends the result `first`, then further events. */
  | 'more'
  /** Returns the context of the prompt as a structured result. */
  | 'see'
  /** Answers with as many characters as the next word says. */
  | 'long'
  /** Sends a delta `waiting`, then nothing until it is stopped. */
  | 'wait'
  /** Like `wait`, but sends a result after it was stopped. */
  | 'late'
  /** Sends a delta `waiting`, then nothing, even if it is stopped. */
  | 'stubborn'
  /** Throws an untyped error that contains a secret. */
  | 'fail'
  /** Throws a typed error that is retryable. */
  | 'refuse'
  /** Throws a typed error that makes the session invalid. */
  | 'break'
  /** Ends its turn with `kitApproval` pending; the next turn reports the decision. */
  | 'ask'
  /** Waits for the decision on `kitApproval` with its stream open, then reports it. */
  | 'hold'

/** The approval that a `kitAgent` asks for. */
export const kitApproval: PendingInput = { id: 'approval-1', kind: 'approval', toolName: 'pay', input: { amount: 5, note: null } }

/** The complete result that a `kitAgent` returns, which must reach the caller unchanged. */
export const kitResult: PromptResult = {
  text: 'whole',
  stopReason: 'max_tokens',
  structured: { snake_case: 1, camelCase: [null, 1.5, { deep: '' }], z: true, a: null },
  usage: { inputTokens: 12, outputTokens: 3 },
}

/** Callbacks for answers, of sessions whose stream is open. */
type Held = Map<string, (answers: readonly Answer[]) => void>

/**
 * Creates an agent that behaves as the prompt says. The session `metadata` control its hooks: `create` may be `refuse` or `hang`,
 * `close` may be `throw`.
 */
export function kitAgent(options: KitAgentOptions): BridgeAgent {
  check.record<KitAgentOptions>({ id: check.optionalName, note: check.requiredFunction })('kitAgent.options', options)
  const { id = 'kit', note } = options
  const held: Held = new Map()
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
        yield* request.answers ? [says(request.answers)] : doing(request)(request, held)
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
  // Gives code that does not wait for the hook a chance to run first.
  await new Promise((resolve) => setImmediate(resolve))
  if (metadata['create'] === 'refuse') throw new BridgeError('CAPACITY', 'No room', { retryable: false, details: { reason: 'kit' } })
  note('created')
}

type Doing = (request: PromptContext, held: Held) => AsyncIterable<BridgeEvent> | Iterable<BridgeEvent>

function doing({ prompt }: PromptContext): Doing {
  const word = prompt.split(' ')[0] ?? ''
  if (!Object.hasOwn(doings, word)) throw new Error(`The kit has no word ${word}`)
  return doings[word as KitWord]
}

const doings: Readonly<Record<KitWord, Doing>> = {
  say: ({ prompt }) => [result(prompt.slice('say '.length))],
  stream: ({ prompt }) => prompt.split(' ').slice(1).map(delta),
  result: () => [
    delta('not the whole'),
    { type: 'progress', message: 'half', progress: 1, total: 2 },
    { type: 'result', result: kitResult },
  ],
  more: () => [result('first'), delta('more'), result('second')],
  see: (request) => [{ type: 'result', result: { text: '', stopReason: 'end_turn', structured: seen(request) } }],
  long: ({ prompt }) => [result('x'.repeat(Number(prompt.split(' ')[1])))],
  wait: ({ abortSignal }) => waitFor(stopped(abortSignal)),
  async *late({ abortSignal }) {
    yield* waitFor(stopped(abortSignal))
    yield result('too late')
  },
  stubborn: () => waitFor(never),
  fail: () => {
    throw new Error('the secret of the agent')
  },
  refuse: () => {
    throw new BridgeError('UPSTREAM', 'Too many', { retryable: true, details: { reason: 'rate-limit', retryAfterMs: 1500 } })
  },
  break: () => {
    throw new BridgeError('UPSTREAM', 'It broke', { retryable: true, details: { sessionValid: false } })
  },
  ask: () => [{ type: 'result', result: { text: 'asking', stopReason: 'needs_input', pending: [kitApproval] } }],
  async *hold({ session, abortSignal }, held) {
    const answered = new Promise<readonly Answer[]>((resolve) => held.set(session.sessionId, resolve))
    yield { type: 'needs-input', pending: [kitApproval] }
    const answers = await Promise.race([answered, stopped(abortSignal)])
    held.delete(session.sessionId)
    if (answers) yield says(answers)
  },
}

async function* waitFor(end: Promise<unknown>): AsyncGenerator<BridgeEvent> {
  yield delta('waiting')
  await end
}

function seen({ session, runtimeParams, requestId, deadlineAt }: PromptContext): JSONValue {
  const { metadata, owner, agentId, depth } = session
  const text = JSON.stringify({ metadata, owner, agentId, depth, runtimeParams, requestId, hasDeadline: deadlineAt !== undefined })
  return JSON.parse(text) as JSONValue
}

function says(answers: readonly Answer[]): BridgeEvent {
  return result(answers.map((answer) => ('decision' in answer ? answer.decision : 'other')).join(' '))
}

function result(text: string): BridgeEvent {
  return { type: 'result', result: { text, stopReason: 'end_turn' } }
}

function delta(text: string): BridgeEvent {
  return { type: 'text-delta', delta: text }
}

const never = new Promise<never>(() => {})

async function stopped(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  return undefined
}
