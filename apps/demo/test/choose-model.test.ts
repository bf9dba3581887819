import { describe, expect, it } from 'vitest'
import { offlineModel } from '../src/model/offline-model.ts'
import { chooseModel } from '../src/server/choose-model.ts'

async function choose(env: Record<string, string>) {
  const { model, spare, ...rest } = await chooseModel(env, () => ({ model: offlineModel(), spare: offlineModel({ isSpare: true }) }))
  expect(spare?.modelId).toBe(rest.offline ? 'bowline-offline-spare' : undefined)
  return { provider: model.provider, modelId: model.modelId, ...rest }
}

const keys = { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b', GOOGLE_GENERATIVE_AI_API_KEY: 'c' }

describe('the model chosen by environment variables', () => {
  it('D8: without variables the offline model answers', async () => {
    expect(await choose({})).toEqual({ provider: 'offline', modelId: 'bowline-offline', offline: true })
  })

  it.each([
    ['OPENAI_API_KEY', 'openai.responses'],
    ['ANTHROPIC_API_KEY', 'anthropic.messages'],
    ['GOOGLE_GENERATIVE_AI_API_KEY', 'google.generative-ai'],
  ])('D8: %s alone chooses %s', async (variable, provider) => {
    expect(await choose({ [variable]: 'key' })).toMatchObject({ provider, offline: false, keyVariable: variable })
  })

  it('D8: the first key present wins unless DEMO_MODEL names a provider', async () => {
    expect((await choose(keys)).provider).toBe('openai.responses')
    expect(await choose({ ...keys, DEMO_MODEL: 'gpt-5' })).toMatchObject({ provider: 'openai.responses', modelId: 'gpt-5' })
    expect(await choose({ ...keys, DEMO_MODEL: 'anthropic:claude-opus-5' })).toMatchObject({
      provider: 'anthropic.messages',
      modelId: 'claude-opus-5',
    })
  })

  it('D8: DEMO_BASE_URL with DEMO_MODEL is any OpenAI-compatible server, with or without a key, and wins over keys', async () => {
    const local = { ...keys, DEMO_BASE_URL: 'http://127.0.0.1:11434/v1', DEMO_MODEL: 'llama3.2:3b' }
    expect(await choose(local)).toEqual({
      provider: 'openai-compatible.chat',
      modelId: 'llama3.2:3b',
      offline: false,
      keyVariable: 'DEMO_API_KEY',
    })
  })

  it.each([
    [{ DEMO_BASE_URL: 'http://127.0.0.1:1/v1' }, 'DEMO_MODEL'],
    [{ DEMO_BASE_URL: 'localhost:11434', DEMO_MODEL: 'llama3.2' }, 'DEMO_BASE_URL'],
    [{ DEMO_MODEL: 'anthropic:claude-opus-5' }, 'ANTHROPIC_API_KEY'],
    [{ DEMO_MODEL: 'google:gemini', OPENAI_API_KEY: 'a' }, 'GOOGLE_GENERATIVE_AI_API_KEY'],
    [{ DEMO_MODEL: 'toString:x', OPENAI_API_KEY: 'a' }, 'DEMO_MODEL'],
    [{ DEMO_MODEL: 'gpt-5' }, 'DEMO_MODEL'],
  ])('D9: %j gives a message that names %s, and the offline model answers', async (env, variable) => {
    const choice = await choose(env)
    expect(choice.offline).toBe(true)
    expect(choice.problem?.variable).toBe(variable)
    expect(choice.problem?.message).toContain(variable)
  })
})
