import type { AssistantMessage, JSONValue, ToolCallPart, ToolOutput, UserMessage } from '@bowline/llm'
import type fastCheck from 'fast-check'
import { isRecord } from '@bowline/agent-loop/internal'
import type { OutcomeStatus, StoredMessage, ToolResult } from '@bowline/agent-loop'
import { checkKeys, checkRequired, checkWhole } from './checks.ts'

type FastCheck = typeof fastCheck
type Arbitrary<Value> = fastCheck.Arbitrary<Value>

/** Maximum size of random transcripts. `maxTurns` counts turns. */
export interface TranscriptArbitraryOptions {
  /** Default 4. */
  readonly maxTurns?: number
  /** Maximum number of calls of one answer. Default 3. */
  readonly maxCalls?: number
}

interface CallPlan {
  readonly input: JSONValue
  readonly outcome: { readonly status: OutcomeStatus; readonly output: ToolOutput }
  readonly details: JSONValue | undefined
  readonly isCut: boolean
}

interface AnswerPlan {
  readonly reasoning: string | undefined
  readonly text: string
  readonly calls: readonly CallPlan[]
  readonly stopReason: 'stop' | 'length' | 'error' | 'aborted'
}

interface TurnPlan {
  readonly inputs: readonly UserMessage['content'][]
  readonly answers: readonly AnswerPlan[]
}

/**
 * Creates random correct transcripts for fast-check: a few turns, with failed and aborted answers. fast-check is an argument, so
 * that this entry loads without it.
 */
export function transcriptArbitrary(fc: FastCheck, options: TranscriptArbitraryOptions = {}): Arbitrary<readonly StoredMessage[]> {
  checkRequired('fc', fc, "fast-check: import fc from 'fast-check'", (given) => isRecord(given) && 'constantFrom' in given)
  checkKeys('transcriptArbitrary.options', options, ['maxTurns', 'maxCalls'])
  const { maxTurns = 4, maxCalls = 3 } = options
  checkWhole('maxTurns', maxTurns, 0)
  checkWhole('maxCalls', maxCalls, 0)
  const turn: Arbitrary<TurnPlan> = fc.record({
    inputs: fc.array(inputs(fc), { minLength: 1, maxLength: 2 }),
    answers: fc.array(answers(fc, maxCalls), { maxLength: 4 }),
  })
  return fc.array(turn, { maxLength: maxTurns }).map((turns) => new Writer().write(turns))
}

function inputs(fc: FastCheck): Arbitrary<UserMessage['content']> {
  const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } } as const
  const text = words(fc).map((value) => ({ type: 'text', text: value }) as const)
  return fc.oneof(words(fc), fc.array(fc.oneof(text, fc.constant(file)), { minLength: 1, maxLength: 3 }))
}

function answers(fc: FastCheck, maxCalls: number): Arbitrary<AnswerPlan> {
  return fc.record({
    reasoning: fc.option(words(fc), { nil: undefined }),
    text: words(fc),
    calls: fc.array(calls(fc), { maxLength: maxCalls }),
    stopReason: fc.constantFrom('stop', 'stop', 'stop', 'length', 'error', 'aborted'),
  })
}

function calls(fc: FastCheck): Arbitrary<CallPlan> {
  return fc.record({
    input: fc.dictionary(words(fc), fc.jsonValue() as Arbitrary<JSONValue>, { maxKeys: 3 }),
    outcome: outcomes(fc),
    details: fc.option(fc.jsonValue() as Arbitrary<JSONValue>, { nil: undefined }),
    isCut: fc.boolean(),
  })
}

function outcomes(fc: FastCheck): Arbitrary<CallPlan['outcome']> {
  const output = <Type extends ToolOutput['type']>(type: Type, value: Arbitrary<unknown>): Arbitrary<ToolOutput> =>
    value.map((said) => ({ type, value: said }) as unknown as ToolOutput)
  const json = fc.jsonValue()
  const item = words(fc).map((text) => [{ type: 'text', text }])
  const ended = (status: OutcomeStatus, ...outputs: Arbitrary<ToolOutput>[]): Arbitrary<CallPlan['outcome']> =>
    fc.record({ status: fc.constant(status), output: fc.oneof(...outputs) })
  const errors = [output('error-text', words(fc)), output('error-json', json)]
  return fc.oneof(
    ended('result', output('text', words(fc)), output('json', json), output('content', item)),
    ended('error', ...errors),
    ended(
      'denied',
      words(fc).map((reason): ToolOutput => ({ type: 'execution-denied', reason })),
    ),
    ended('cancelled', ...errors),
    ended('unknown', ...errors),
  )
}

function words(fc: FastCheck): Arbitrary<string> {
  return fc.oneof(fc.constantFrom('a', 'two words', 'Zeile\n“zwei”', '😀'), fc.stringMatching(/^\w{1,20}$/))
}

/** Gives plans their ids, in order. */
class Writer {
  readonly #messages: StoredMessage[] = []
  #calls = 0

  write(turns: readonly TurnPlan[]): readonly StoredMessage[] {
    for (const { inputs, answers } of turns) {
      for (const content of inputs) this.#messages.push({ role: 'user', id: this.#nextId(), content, at: this.#messages.length })
      for (const answer of answers) {
        this.#answer(answer)
        // Only the next input follows a broken answer, or an answer without calls.
        if (answer.stopReason === 'error' || answer.stopReason === 'aborted' || answer.calls.length === 0) break
      }
    }
    return this.#messages
  }

  #answer({ reasoning, text, calls, stopReason }: AnswerPlan): void {
    const isBroken = stopReason !== 'stop'
    const parts = calls.map((call) => this.#call(call, isBroken))
    const thought = reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning } as const]
    const answer: AssistantMessage = {
      role: 'assistant',
      id: this.#nextId(),
      provider: 'random.chat',
      modelId: 'random-model',
      at: this.#messages.length,
      content: [...thought, { type: 'text', text }, ...parts],
      stopReason: stopReason === 'stop' && calls.length > 0 ? 'tool-calls' : stopReason,
      ...(stopReason === 'error' && { error: { kind: 'server-error', retryable: true, phase: 'before-output', message: text } }),
      usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 },
      timing: { totalMs: 1 },
    }
    this.#messages.push(answer)
    for (const [index, part] of parts.entries()) this.#result(part, index, calls[index], isBroken)
  }

  #call({ input, isCut }: CallPlan, isBroken: boolean): ToolCallPart {
    const base = { type: 'tool-call', toolCallId: `call_${++this.#calls}`, toolName: `tool_${this.#calls % 3}` } as const
    return isBroken && isCut ? { ...base, input: {}, invalid: 'truncated', inputText: '{"a' } : { ...base, input }
  }

  #result({ toolCallId, toolName }: ToolCallPart, index: number, plan: CallPlan | undefined, isBroken: boolean): void {
    const { status, output } = !plan || isBroken ? cancelled : plan.outcome
    const result: ToolResult = {
      role: 'tool-result',
      id: this.#nextId(),
      toolCallId,
      toolName,
      output,
      at: this.#messages.length,
      status,
      index,
      ...(plan?.details !== undefined && { details: plan.details }),
    }
    this.#messages.push(result)
  }

  #nextId(): string {
    return `message_${this.#messages.length + 1}`
  }
}

const cancelled: CallPlan['outcome'] = { status: 'cancelled', output: { type: 'error-text', value: 'not run: the answer was broken' } }
