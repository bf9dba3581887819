import { addCost, addUsage } from '@bowline/llm'
import type { AssistantMessage, Cost, ModelError, Usage } from '@bowline/llm'
import type { AgentEvent, DurableEvent, ToolResult } from '../../src/index.ts'

const model = { provider: 'drawn', modelId: 'm' }
const spent = { usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 }, cost: costOf('0.15') }
const error: ModelError = { kind: 'rate-limit', retryable: true, phase: 'before-output', message: 'slow down' }

export function costOf(total: string, currency = 'USD'): Cost {
  return { currency, total, input: total, cacheRead: '0', cacheWrite: '0', output: '0' }
}

/**
 * Returns a log for a drawing: event types with their distinguishing parts in brackets, such as `message-end(x,y)` with its calls.
 * All other fields are filled in correctly.
 */
export function drawnLog(drawing: string): AgentEvent[] {
  const pen = new Pen()
  return drawing
    .trim()
    .split(/\s+/)
    .flatMap((word) => {
      const [, name = '', list] = /^([^(]+)(?:\((.*)\))?$/.exec(word) ?? []
      return pen.draw(name, list === undefined ? [] : list.split(','))
    })
}

class Pen {
  #seq = 0
  #runs = 0
  #turn = 0
  #step = 0
  #attempt = 1
  #messages = 0
  #messageId = ''
  #calls: readonly string[] = []
  #starts = new Map<string, number>()
  #usage: Usage = {}
  #cost: Cost | undefined
  #resumes = false

  draw(name: string, args: readonly string[]): AgentEvent[] {
    if (name === '·') return this.#deltas()
    const seq = ++this.#seq
    const [first = '', second = ''] = args
    const fields = this.#fieldsOf(name, first, second, args)
    const run = { at: 1_000 + seq, runId: `run_${this.#runs}`, turn: this.#turn }
    return [{ ...run, ...fields, seq } as DurableEvent]
  }

  #deltas(): AgentEvent[] {
    const base = { at: 1_000, runId: `run_${this.#runs}`, turn: this.#turn, step: this.#step, messageId: this.#messageId, index: 0 }
    return [
      { ...base, type: 'text-start' },
      { ...base, type: 'text-delta', delta: 'so' },
      { ...base, type: 'text-delta', delta: 'me' },
      { ...base, type: 'text-end', text: 'some' },
    ]
  }

  #book(): typeof spent {
    this.#usage = addUsage(this.#usage, spent.usage)
    this.#cost = addCost(this.#cost, spent.cost)
    return spent
  }

  #begin(): void {
    this.#runs++
    this.#step = 0
    this.#usage = {}
    this.#cost = undefined
    this.#calls = []
    this.#starts = new Map()
  }

  #fieldsOf(name: string, first: string, second: string, args: readonly string[]): object {
    const step = this.#step
    switch (name) {
      case 'user-message':
        if (first !== 'again') this.#begin()
        this.#resumes = true
        this.#messageId = `msg_${++this.#messages}`
        return {
          type: name,
          messageId: this.#messageId,
          source: 'user',
          message: { role: 'user', id: this.#messageId, content: 'go', at: 1 },
        }
      case 'turn-start': {
        if (first !== '') return { type: name, resumed: true, attempt: 2, cause: first }
        if (!this.#resumes) this.#begin()
        this.#resumes = false
        this.#turn++
        return { type: name, resumed: false, attempt: 1, turn: this.#turn }
      }
      case 'runtime-input': {
        const message = { role: 'user', id: `msg_${++this.#messages}`, content: 'also', at: 1 } as const
        const source = second === '' ? 'steer' : second
        return { type: name, inputId: `in_${this.#seq}`, source, placement: first, characters: 4, ...(source !== 'overlay' && { message }) }
      }
      case 'step-start':
        this.#step++
        this.#attempt = 1
        this.#calls = []
        return { type: name, step: this.#step, contextTokens: 10, model }
      case 'step-end':
        return { type: name, step, toolCalls: this.#calls.length, continues: true }
      case 'message-start':
        this.#messageId = `msg_${++this.#messages}`
        return { type: name, step, messageId: this.#messageId, attempt: this.#attempt, model }
      case 'message-end':
        this.#calls = args
        return { type: name, step, messageId: this.#messageId, attempt: this.#attempt, message: this.#answer(args) }
      case 'message-discarded':
        return { type: name, step, messageId: second === '' ? this.#messageId : second, reason: first }
      case 'retry-start':
        this.#attempt++
        return {
          type: name,
          step,
          attempt: this.#attempt,
          maxAttempts: 4,
          delayMs: 2_000,
          notBefore: 9_000,
          cause: first === '' ? 'error' : first,
          error,
        }
      case 'retry-end':
        return { type: name, step, attempt: this.#attempt, success: first === 'true' }
      case 'compaction-start':
        return { type: name, compactionId: first, trigger: 'overflow', tokensBefore: 100 }
      case 'compaction-end':
        return { type: name, compactionId: first, outcome: second, ...(second === 'done' && { compaction: compactionOf(first) }) }
      case 'usage':
        return { type: name, purpose: first, ...(second === 'outside' ? spent : this.#book()) }
      default:
        return this.#callFields(name, first, second, args) ?? this.#closingFields(name, first, second)
    }
  }

  #callFields(name: string, toolCallId: string, second: string, args: readonly string[]): object | undefined {
    const base = { type: name, step: this.#step, toolCallId }
    switch (name) {
      case 'tool-execution-start': {
        const attempt = (this.#starts.get(toolCallId) ?? 0) + 1
        this.#starts.set(toolCallId, attempt)
        return { ...base, toolName: 'tool', input: {}, attempt, idempotencyKey: `key/${toolCallId}`, effect: 'once' }
      }
      case 'tool-execution-end':
        return {
          ...base,
          executed: second === '' ? 'here' : second,
          durationMs: 5,
          message: this.#result(toolCallId, second === 'no' ? 'cancelled' : 'result'),
        }
      case 'awaiting-tools':
        return {
          type: name,
          step: this.#step,
          ...(args.includes('continues') && { continues: true }),
          pendingToolCalls: args
            .filter((arg) => arg !== 'continues')
            .map((path) => ({ ...placeOf(path), toolName: 'tool', input: {}, agent: [] })),
        }
      case 'approval-requested':
        return {
          ...base,
          ...placeOf(toolCallId),
          approvalId: `approval_${toolCallId}`,
          toolName: 'tool',
          input: { a: 1 },
          inputHash: 'hash',
        }
      case 'approval-resolved':
        return { ...base, ...placeOf(toolCallId), path: undefined, approvalId: `approval_${toolCallId}`, decision: second }
      case 'child-start':
        return { ...base, childRunId: `child_${toolCallId}`, subagent: 'helper', description: 'looks' }
      case 'child-update':
        return {
          ...base,
          childRunId: `child_${toolCallId}`,
          subagent: args[2] ?? 'helper',
          step: Number(second),
          status: 'running',
          text: 'I look',
          toolNames: ['look'],
        }
      case 'child-end':
        return { ...base, childRunId: `child_${toolCallId}`, subagent: args[2] ?? 'helper', status: second, ...spent }
      default:
        return undefined
    }
  }

  #closingFields(name: string, first: string, second: string): object {
    switch (name) {
      case 'turn-end':
        return {
          type: name,
          status: first,
          reason: 'stop',
          usage: this.#usage,
          steps: this.#step,
          overlaysExpired: 0,
          ...(this.#cost && { cost: this.#cost }),
          ...(first === 'error' && { error }),
        }
      case 'lone-end':
        return {
          type: 'turn-end',
          runId: first,
          turn: 0,
          ...(second === 'error' ? { status: 'error', reason: 'refused' } : { status: 'aborted', reason: 'abort' }),
          usage: {},
          steps: second === 'steps' ? 1 : 0,
          overlaysExpired: 0,
        }
      case 'run-queued':
        return { type: name, runId: first, turn: undefined, kind: 'user', input: 'go' }
      case 'session-start':
        return { type: name, runId: undefined, turn: undefined, sessionKey: 's', ...(first === 'copied' && { copied: true }) }
      case 'branch-switched':
        return { type: name, runId: undefined, turn: undefined, from: 'a', to: 'b' }
      case 'session-end':
        return { type: name, runId: undefined, turn: undefined, sessionKey: 's', reason: 'deleted' }
      case 'orchestration-step':
        return { type: name, name: 'plan', because: 'it begins', sequenceIndex: 0 }
      case 'error':
        return { type: name, source: 'extension', name: 'watch', hook: 'onEvent', message: 'no', fatal: false }
      case 'save-point':
      case 'settled':
        return { type: name }
      default:
        throw new Error(`no event is named ${name}`)
    }
  }

  #answer(calls: readonly string[]): AssistantMessage {
    const text = { type: 'text', text: 'some' } as const
    const parts = calls.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'tool', input: {} }) as const)
    const stopReason = calls.length > 0 ? 'tool-calls' : 'stop'
    return {
      role: 'assistant',
      id: this.#messageId,
      content: [text, ...parts],
      ...model,
      stopReason,
      ...this.#book(),
      at: 1,
      timing: { totalMs: 1 },
    }
  }

  #result(toolCallId: string, status: ToolResult['status']): ToolResult {
    const output = { type: 'text', value: 'said' } as const
    return {
      role: 'tool-result',
      id: `result_${toolCallId}`,
      toolCallId,
      toolName: 'tool',
      output,
      at: 1,
      status,
      index: this.#calls.indexOf(toolCallId),
    }
  }
}

/** Reads `x/y`: the call y of a child that the call x runs. */
function placeOf(text: string): { readonly toolCallId: string; readonly path: readonly string[] } {
  const path = text.split('/')
  return { toolCallId: path.at(-1) ?? '', path: path.slice(0, -1) }
}

function compactionOf(compactionId: string): object {
  const { usage } = spent
  return {
    compactionId,
    summary: 'so far',
    firstKeptMessageId: '',
    tokensBefore: 100,
    tokensAfter: 10,
    facts: [],
    source: 'default',
    usage,
  }
}
