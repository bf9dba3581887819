import type { AssistantMessage } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineTool } from '../../src/index.ts'
import type { ModelFunction } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { eventsOf, outwait, playOut, typesOf } from '../support/waiting.ts'

/** The error that a library throws if its own request was aborted, by its own limit or by its server. */
const foreignAbort = (): DOMException => new DOMException('This operation was aborted', 'AbortError')

/** Returns a function that fails in this way once, and then answers. */
function failingOnce(fail: () => ReturnType<ModelFunction>): ModelFunction {
  let calls = 0
  return () => (++calls === 1 ? fail() : Promise.resolve([{ role: 'assistant', content: 'done' }]))
}

describe('an AbortError that no stop of the run caused', () => {
  it.each([
    ['rejects with it', () => Promise.reject(foreignAbort())],
    [
      'throws it',
      () => {
        throw foreignAbort()
      },
    ],
    ['gives a stream that breaks with it', () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(foreignAbort()) }) })],
  ] as const)('A115: a model function that %s has failed: the runtime retries it', async (_how, fail) => {
    const talk = conversation()
    const agent = defineAgent({ model: failingOnce(fail as () => ReturnType<ModelFunction>), retry: { jitter: 0 } })
    const result = await outwait(talk, talk.run(agent, 'go'))
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(eventsOf(talk, 'retry-start')).toMatchObject([{ error: { kind: 'network', retryable: true } }])
  })

  it('A115: without retries the run ends as error, not as aborted', async () => {
    const talk = conversation()
    const agent = defineAgent({ model: () => Promise.reject(foreignAbort()), retry: false })
    const result = await playOut(talk, agent, 'go')
    expect(result).toMatchObject({ status: 'error', reason: 'model-error', error: { kind: 'network' } })
    const [end] = eventsOf(talk, 'message-end')
    expect((end as { message: AssistantMessage }).message.stopReason).toBe('error')
  })

  it('A52: a tool that throws it has failed, and the run goes on', async () => {
    const talk = conversation()
    const tool = defineTool({
      name: 'fetches',
      description: 'fetches',
      inputSchema: z.looseObject({}),
      execute: () => Promise.reject(foreignAbort()),
    })
    const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'fetches', input: {} }] }, { text: 'done' }], { tools: [tool] })
    expect(await playOut(talk, agent, 'go')).toMatchObject({ status: 'completed', text: 'done' })
    expect(eventsOf(talk, 'tool-execution-end')).toMatchObject([{ message: { toolCallId: 'x', status: 'error' } }])
    expect(typesOf(talk)).not.toContain('error')
  })
})
