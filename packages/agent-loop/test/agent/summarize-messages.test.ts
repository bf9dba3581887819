import { describe, expect, it } from 'vitest'
import { defineAgent, summarizeMessages } from '../../src/index.ts'
import type { Agent } from '../../src/index.ts'
import { model } from '../support/conversation.ts'
import { textOfRequest } from '../support/prompts.ts'

const messages = [
  { role: 'user', id: 'm1', content: 'WHERE IS IT' },
  { role: 'user', id: 'm2', content: 'NEVER MIND' },
] as const

describe('a summary of messages', () => {
  it('A132: is one model call with the wording of compactions, and is stored in no journal', async () => {
    const scripted = model([{ text: 'SUMMARY', usage: { input: 7, output: 2 } }])
    const agent = defineAgent({ model: scripted, compaction: false, instructions: 'You sell boats.' })
    expect(await summarizeMessages(agent, { messages, instructions: 'the boats' })).toMatchObject({
      summary: 'SUMMARY',
      usage: { inputTokens: 7 },
    })
    const request = textOfRequest(scripted.calls[0])
    for (const text of ['WHERE IS IT', 'NEVER MIND', 'the boats', '## <heading>']) expect(request).toContain(text)
    expect(request).not.toContain('You sell boats.')
  })

  it('A133: a summary that was cut, failed or stopped is a failure, with its usage', async () => {
    const failing = (agent: Agent) => summarizeMessages(agent, { messages })
    const cut = defineAgent({ model: model([{ text: 'SUMM', finish: 'length', usage: { input: 7, output: 2 } }]) })
    expect(await failing(cut)).toMatchObject({ failure: expect.stringContaining('cut'), usage: { inputTokens: 7 } })
    expect(await failing(defineAgent({ model: model([{ error: new Error('down') }]), retry: false }))).toHaveProperty('failure')
    const stopped = summarizeMessages(defineAgent({ model: model([]) }), { messages, abortSignal: AbortSignal.abort() })
    expect(await stopped).toHaveProperty('failure')
  })

  it('A133: fails without a model that could write it; throws as misuse if the argument is not an agent', async () => {
    const agent = defineAgent({ model: async () => [{ role: 'assistant', content: 'words' }] })
    expect(await summarizeMessages(agent, { messages })).toMatchObject({ failure: expect.stringContaining('compaction.model'), usage: {} })
    await expect(summarizeMessages({} as Agent, { messages })).rejects.toMatchObject({ code: 'invalid-config' })
  })
})
