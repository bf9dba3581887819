import { createModels } from '@bowline/llm'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineAgent } from '../../../src/index.ts'
import type { AgentEvent, Extension, ExtensionContext, Hooks, Journal } from '../../../src/index.ts'
import { conversation, model } from '../../support/conversation.ts'
import { textOfRequest } from '../../support/prompts.ts'
import { extension } from './support.ts'

const errorsOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'error')
const long = (word: string) => `${word} `.repeat(200)

function agentWith(steps: readonly Step[], extensions: readonly Extension[]) {
  const scripted = model(steps)
  const models = createModels({
    providers: { test: { languageModel: () => scripted } },
    models: { 'test:small': { contextWindow: 100_000 } },
  })
  const agent = defineAgent({
    model: 'test:small',
    models,
    retry: false,
    instructions: 'You help.',
    compaction: { keepRecentTokens: 50, instructions: 'FOCUS' },
    extensions,
  })
  return { agent, scripted }
}

/** Plays a conversation of two turns, and compacts it with `agent.compact`. */
async function compactByHand(
  steps: readonly Step[],
  hooks: Hooks,
  options: { readonly abortSignal?: AbortSignal; readonly onError?: 'fail'; readonly wrap?: (journal: Journal) => Journal } = {},
) {
  const { wrap = (journal: Journal) => journal, onError = 'ignore', ...given } = options
  const talk = conversation({ wrap })
  const { agent, scripted } = agentWith([{ text: long('one') }, { text: long('two') }, ...steps], [extension('mine', hooks, { onError })])
  await talk.play(agent, long('first'))
  await talk.play(agent, long('second'))
  const { clock, ids } = talk
  const result = await agent.compact({ journal: wrap(talk.journal), clock, ids, instructions: 'BY HAND', ...given })
  return { talk, result, request: textOfRequest(scripted.calls[2]) }
}

describe('compactions that hooks request', () => {
  it('A139: requests of several hooks make one compaction, after the turn', async () => {
    const talk = conversation()
    const request = (_event: unknown, { turn, compactAfterTurn }: ExtensionContext) => (turn === 2 ? compactAfterTurn() : undefined)
    const { agent } = agentWith(
      [{ text: long('one') }, { text: long('two') }, { text: 'SUMMARY' }],
      [extension('ask', { onTurnStart: request, onStepEnd: request })],
    )
    await talk.play(agent, long('first'))
    await talk.play(agent, long('second'))
    expect(talk.journal.log.flatMap((event) => (event.type === 'compaction-start' ? [event.trigger] : []))).toEqual(['requested'])
    expect(talk.types().slice(-6)).toEqual(['turn-end', 'save-point', 'compaction-start', 'usage', 'compaction-end', 'settled'])
  })

  it('A143: a hook of a compaction after the turn cannot end the turn', async () => {
    const talk = conversation()
    const ask = extension(
      'ask',
      {
        onTurnStart: (_event, { compactAfterTurn }) => compactAfterTurn(),
        beforeCompaction: () => {
          throw new Error('bad')
        },
      },
      { onError: 'fail' },
    )
    const { agent } = agentWith([{ text: long('one') }, { text: long('two') }, { text: 'SUMMARY' }], [ask])
    await talk.play(agent, long('first'))
    const { result } = await talk.play(agent, long('second'))
    expect(result.status).toBe('completed')
    expect(errorsOf(talk.journal.log)).toMatchObject([{ hook: 'beforeCompaction', fatal: false }])
    expect((await talk.memory.load()).compaction).toMatchObject({ summary: 'SUMMARY' })
  })
})

describe('hooks of a compaction by hand', () => {
  it.each([
    ['that is made', [{ text: 'SUMMARY' }], {}, ['compacted', 'saved 2', 'settled 2']],
    ['that a hook cancels', [], { beforeCompaction: () => ({ cancel: true }) as const }, ['saved 2', 'settled 2']],
  ])('A150: a compaction %s is told as saved and settled, like a turn', async (_outcome, steps, more: Hooks, expected) => {
    const told: string[] = []
    const hooks: Hooks = {
      ...more,
      afterCompaction: () => void told.push('compacted'),
      onSavePoint: ({ turn }) => void told.push(`saved ${turn}`),
      onSettled: ({ turn }) => void told.push(`settled ${turn}`),
    }
    // The two turns before the compaction tell the hooks too.
    const { talk } = await compactByHand(steps, hooks)
    expect(told).toEqual(['saved 1', 'settled 1', 'saved 2', 'settled 2', ...expected])
    expect(talk.types().at(-1)).toBe('settled')
  })

  it('A150: an error of these hooks is an event, and changes no outcome', async () => {
    const fail = (): never => {
      throw new Error('bad')
    }
    let compacted = false
    const { result, talk } = await compactByHand([{ text: 'SUMMARY' }], {
      afterCompaction: () => void (compacted = true),
      onSettled: () => (compacted ? fail() : undefined),
    })
    expect(result.outcome).toBe('done')
    expect(errorsOf(talk.journal.log)).toMatchObject([{ hook: 'onSettled', message: 'bad', fatal: false }])
  })

  it('A150: where compaction is off, nothing is stored and nothing told', async () => {
    const told: string[] = []
    const talk = conversation()
    const agent = defineAgent({
      model: model([{ text: 'one' }]),
      compaction: false,
      extensions: [extension('mine', { onSavePoint: () => void told.push('saved'), onSettled: () => void told.push('settled') })],
    })
    await talk.play(agent, 'first')
    const { clock, ids } = talk
    expect(await agent.compact({ journal: talk.journal, clock, ids })).toMatchObject({ outcome: 'skipped' })
    expect(told).toEqual(['saved', 'settled'])
  })

  it('A140: may cancel the compaction', async () => {
    const { result, talk } = await compactByHand([], { beforeCompaction: () => ({ cancel: true, reason: 'not now' }) })
    expect(result).toMatchObject({ outcome: 'cancelled', reason: 'not now' })
    expect((await talk.memory.load()).compaction).toBeUndefined()
  })

  it('A140: may replace the compaction without a model call, and are notified after the commit', async () => {
    const told: unknown[] = []
    const { result } = await compactByHand([], {
      beforeCompaction: ({ trigger, firstKeptMessageId = '' }) => (
        told.push(trigger),
        { compaction: { summary: 'MINE', firstKeptMessageId } }
      ),
      onEvent: ({ type }) => void (type === 'compaction-end' && told.push(type)),
      afterCompaction: ({ compaction }) => void told.push(compaction.summary),
    })
    expect(result).toMatchObject({ outcome: 'done', compaction: { summary: 'MINE', source: 'extension' } })
    expect(told).toEqual(['manual', 'compaction-end', 'MINE'])
  })

  it('A140: may add instructions, after those of the policy and the caller, each once', async () => {
    const seen: unknown[] = []
    const { request } = await compactByHand([{ text: 'SUMMARY' }], {
      beforeCompaction: ({ instructions }) => (seen.push(instructions), { instructions: 'BY HOOK' }),
    })
    expect(seen).toEqual(['FOCUS\nBY HAND'])
    expect(['FOCUS', 'BY HAND', 'BY HOOK'].map((word) => request.split(word).length - 1)).toEqual([1, 1, 1])
    expect(request.indexOf('BY HOOK')).toBeGreaterThan(request.indexOf('BY HAND'))
  })

  it('A143: a hook that throws gives an error event and leaves the compaction unchanged, also after its end', async () => {
    const bad = () => {
      throw new Error('bad')
    }
    const { result, talk } = await compactByHand(
      [{ text: 'SUMMARY' }],
      { beforeCompaction: bad, afterCompaction: bad },
      { onError: 'fail' },
    )
    expect(result.outcome).toBe('done')
    expect(errorsOf(talk.journal.log)).toMatchObject([
      { name: 'mine', hook: 'beforeCompaction', fatal: false },
      { hook: 'afterCompaction', fatal: false },
    ])
    expect(talk.types().slice(-6)).toEqual(['compaction-start', 'error', 'usage', 'compaction-end', 'settled', 'error'])
  })

  it('have a context without a turn: its fields of a turn are empty and refuse inputs', async () => {
    const seen: unknown[] = []
    const { talk } = await compactByHand([{ text: 'SUMMARY' }], {
      async beforeCompaction(_event, context) {
        const { turn, step, agent, usage, state, journal, abortSignal, logStep, contextUsage } = context
        seen.push({ turn, step, agent, usage, state }, [
          journal,
          context.isIdle(),
          context.hasPendingInputs(),
          context.instructions(),
          abortSignal.aborted,
        ])
        expect(contextUsage()).toMatchObject({ tokens: expect.any(Number), contextWindow: 100_000 })
        seen.push(await Promise.all([context.steer('x'), context.overlay('x'), context.followUp('x')]))
        context.compactAfterTurn()
        logStep({ name: 'compact', because: 'by hand', sequenceIndex: 1 })
        void context.waitForIdle().then(() => seen.push('idle'))
      },
    })
    const refused = { ok: false, reason: 'run-ended' }
    expect(seen).toEqual([
      { turn: 2, step: 0, agent: [], usage: {}, state: {} },
      ['compaction', false, false, 'You help.', false],
      [refused, refused, refused],
      'idle',
    ])
    expect(talk.types().filter((type) => type === 'orchestration-step')).toHaveLength(1)
  })

  it('queue follow-ups if the journal supports them, and abort the compaction', async () => {
    const queued: unknown[] = []
    const answers: unknown[] = []
    const wrap = (journal: Journal): Journal => ({
      ...journal,
      enqueue: async (input) => (queued.push(input), { ok: true, inputId: 'i1' }),
    })
    const stop = async (_event: unknown, context: ExtensionContext) => {
      answers.push(await context.followUp('later'))
      context.abort('enough')
    }
    const { result } = await compactByHand([], { beforeCompaction: stop }, { wrap })
    expect(result.outcome).toBe('cancelled')
    expect(answers).toEqual([{ ok: true, inputId: 'i1' }])
    expect(queued).toMatchObject([{ role: 'user', content: 'later' }])
  })

  it('A109: an abort ends the wait for a hook that hangs', async () => {
    const controller = new AbortController()
    const hang = () => (controller.abort(), new Promise<never>(() => undefined))
    const { result } = await compactByHand([], { beforeCompaction: hang }, { abortSignal: controller.signal })
    expect(result.outcome).toBe('cancelled')
  })

  it('onEvent sees the events of the compaction', async () => {
    const seen: string[] = []
    await compactByHand([{ text: 'SUMMARY' }], { onEvent: ({ type }) => void seen.push(type) })
    expect(seen.slice(-4)).toEqual(['compaction-start', 'usage', 'compaction-end', 'settled'])
  })
})
