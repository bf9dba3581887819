import { toPrompt } from '@bowline/llm'
import type { AssistantPart, Message } from '@bowline/llm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../../scripts/test-length.ts'
import { findCut, isLegalCut } from '../../../src/plugins/compaction/cut.ts'
import { ContextEstimate } from '../../../src/transcript/estimate.ts'
import { weigh } from '../../../src/transcript/estimate.ts'
import type { StoredMessage } from '../../../src/contract/journal.ts'
import { clientCalls } from '../../../src/base/messages.ts'
import { View } from '../../../src/transcript/view.ts'
import { answer, call, long, result, testModel, user } from './messages.ts'

interface RandomStep {
  readonly text: number
  readonly calls: readonly ('client' | 'provider' | 'provider-later')[]
  readonly output: number
  readonly ending: 'stop' | 'error' | 'aborted' | 'paused'
}

const randomStep: fc.Arbitrary<RandomStep> = fc.record({
  text: fc.integer({ min: 1, max: 300 }),
  calls: fc.array(fc.constantFrom('client', 'client', 'provider', 'provider-later'), { maxLength: 3 }),
  output: fc.integer({ min: 1, max: 600 }),
  ending: fc.constantFrom('stop', 'stop', 'stop', 'stop', 'error', 'aborted', 'paused'),
})

const randomTurns = fc.array(fc.array(randomStep, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })

/** Returns a transcript that keeps the invariants. A call that the provider ends later is in an answer that is continued. */
function transcriptOf(turns: readonly (readonly RandomStep[])[]): readonly StoredMessage[] {
  const messages: StoredMessage[] = []
  for (const [turn, steps] of turns.entries()) {
    messages.push(user(`u${turn}`, long(40)))
    let later: readonly string[] = []
    for (const [place, { text, calls, output, ending }] of steps.entries()) {
      const id = `a${turn}-${place}`
      const isLast = place === steps.length - 1
      const isWhole = ending === 'stop' || ending === 'paused'
      const isPaused = ending === 'paused' && !isLast
      // The provider also continues when it gets the results of our calls.
      const goesOn = isPaused || (ending === 'stop' && !isLast && calls.includes('client'))
      const parts: AssistantPart[] = later.map((toolCallId) => ({ type: 'tool-result', toolCallId, toolName: 'search', result: 'found' }))
      later = []
      parts.push({ type: 'text', text: long(text) })
      for (const [index, kind] of calls.entries()) {
        const toolCallId = `${id}-${index}`
        if (kind === 'client' && ending !== 'paused') parts.push(call(toolCallId))
        if (kind === 'provider' || (kind === 'provider-later' && goesOn)) {
          parts.push({ type: 'tool-call', toolCallId, toolName: 'search', input: {}, providerExecuted: true })
        }
        if (kind === 'provider') parts.push({ type: 'tool-result', toolCallId, toolName: 'search', result: 'found' })
        if (kind === 'provider-later' && goesOn) later = [...later, toolCallId]
      }
      const stopReason = ending === 'paused' ? 'stop' : ending
      const usage = { inputTokens: 100 * (messages.length + 1), outputTokens: 10 }
      const message = answer(id, parts, { stopReason, usage, ...(isPaused && { paused: true }) })
      messages.push(message)
      for (const { toolCallId } of clientCalls(message))
        messages.push(result(toolCallId, long(output), 'read', isWhole ? 'result' : 'cancelled'))
      if (!isWhole) break
    }
  }
  return messages
}

function viewOf(messages: readonly StoredMessage[]): View {
  const view = new View()
  for (const message of messages) view.append(message)
  return view
}

function repairsOf(messages: readonly Message[]): readonly unknown[] {
  return toPrompt({ messages, model: testModel }).repairs
}

function idsOfCalls(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(
    messages.flatMap((message) =>
      message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : [])) : [],
    ),
  )
}

function idsOfResults(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => {
    if (message.role === 'tool-result') return message.toolCallId
    if (message.role !== 'assistant') return []
    return message.content.flatMap((part) => (part.type === 'tool-result' ? part.toolCallId : []))
  })
}

const run = randomRuns(300)

describe('random conversations', () => {
  it('A131: no cut separates a call from its result, at whatever size', () => {
    fc.assert(
      fc.property(randomTurns, fc.integer({ min: 0, max: 600 }), (turns, keepTokens) => {
        const messages = viewOf(transcriptOf(turns)).messages
        const cut = findCut(messages, { keepTokens, mostTokens: Infinity }, (message) => weigh(message).characters / 4)
        if (!cut) return
        expect(isLegalCut(messages, cut.index)).toBe(true)
        const before = idsOfCalls(messages.slice(0, cut.index))
        expect(idsOfResults(messages.slice(cut.index)).filter((id) => before.has(id))).toEqual([])
        const kept = messages.slice(cut.index).reduce((tokens, message) => tokens + weigh(message).characters / 4, 0)
        expect(kept).toBeGreaterThanOrEqual(keepTokens)
      }),
      run,
    )
  })

  it('A132, I7: the view with a compaction needs no repair, and without it equals the old view', () => {
    fc.assert(
      fc.property(randomTurns, randomTurns, fc.integer({ min: 0, max: 600 }), (turns, later, keepTokens) => {
        const view = viewOf(transcriptOf(turns))
        const old = [...view.messages]
        fc.pre(repairsOf(old).length === 0)
        const cut = findCut(old, { keepTokens, mostTokens: 2 * keepTokens }, (message) => weigh(message).characters / 4)
        if (!cut) return
        const firstKeptMessageId = view.uncompacted[cut.index]?.id ?? ''
        const lastMessageId = view.uncompacted.at(-1)?.id ?? ''
        view.setCompaction({
          compactionId: 'k',
          summary: 's',
          firstKeptMessageId,
          lastMessageId,
          tokensBefore: 1,
          tokensAfter: 1,
          facts: [],
          source: 'default',
          usage: {},
        })
        expect(repairsOf(view.messages)).toEqual([])
        expect(view.messages.slice(1)).toEqual(old.slice(cut.index))
        const added = transcriptOf(later).map((message) => ({ ...message, id: `later-${message.id}` }))
        for (const message of added) view.append(message)
        const shown = viewOf(added).messages
        expect(view.messages).toEqual([view.messages[0], ...old.slice(cut.index), ...shown])
        view.setCompaction(undefined)
        expect(view.messages).toEqual([...old, ...shown])
      }),
      run,
    )
  })

  it('A130: the estimate updated message by message equals the estimate of the whole view', () => {
    fc.assert(
      fc.property(randomTurns, (turns) => {
        const view = new View()
        const followed = new ContextEstimate(testModel)
        for (const message of transcriptOf(turns)) if (view.append(message)) followed.append(message)
        const whole = new ContextEstimate(testModel)
        whole.restart(view)
        expect(whole.tokens).toBe(followed.tokens)
        expect(whole.tokensPerCharacter).toBe(followed.tokensPerCharacter)
      }),
      run,
    )
  })
})
