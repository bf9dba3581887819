import { scriptedModel } from '@bowline/llm/testing'
import { tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AgentError, defineAgent, defineTool } from '../../src/index.ts'
import type { AgentOptions, Tool } from '../../src/index.ts'
import { echo } from '../support/tools.ts'

const model = scriptedModel([])

function refusal(make: () => unknown): AgentError {
  try {
    make()
  } catch (error) {
    if (AgentError.isInstance(error)) return error
  }
  throw new Error('nothing was refused')
}

describe('defineAgent', () => {
  it.each([undefined, null, '', 7, {}, { specificationVersion: 'v1', provider: 'p', modelId: 'm', doStream() {} }])(
    'A1: refuses %s as a model',
    (given) => {
      const error = refusal(() => defineAgent({ model: given } as unknown as AgentOptions))
      expect(error.code).toBe('invalid-config')
      expect(error.message).toContain('model')
    },
  )

  it('A3: a run refuses a model string that no registry resolves, before any event', () => {
    const agent = defineAgent({ model: 'openai:gpt' })
    const error = refusal(() => agent.run('hi'))
    expect(error.code).toBe('invalid-config')
    expect(error.message).toContain('openai:gpt')
  })

  it.each([
    ['agent', () => defineAgent({ model, temperature: 1 } as AgentOptions), 'temperature'],
    ['limits', () => defineAgent({ model, limits: { maxStep: 1 } } as unknown as AgentOptions), 'maxStep'],
    ['run', () => defineAgent({ model }).run('hi', { stream: true } as object), 'stream'],
    ['tool', () => defineTool({ name: 'a', description: '', inputSchema: {}, retries: 1 } as never), 'retries'],
  ])('A2: the error names an unknown option of %s', (_where, make, key) => {
    const error = refusal(make)
    expect(error.code).toBe('invalid-config')
    expect(error.message).toContain(key)
  })

  it('A4: refuses two tools with one name', () => {
    const error = refusal(() => defineAgent({ model, tools: [echo('a').tool, echo('a').tool] }))
    expect(error.code).toBe('invalid-config')
    expect(error.message).toContain('"a"')
  })

  it.each([
    ['toolConcurrency', { toolConcurrency: 0 }],
    ['limits.maxSteps', { limits: { maxSteps: 0.5 } }],
    ['abortGraceMs', { abortGraceMs: -1 }],
    ['onUnknownOutcome', { onUnknownOutcome: 'guess' }],
    ['instructions', { instructions: 7 }],
    ['toolChoice', { toolChoice: 'any' }],
    ['toolChoice', { toolChoice: { type: 'auto' } }],
    ['subagents', { subagents: {} }],
    ['extensions', { extensions: 'audit' }],
    ['guardrails', { guardrails: {} }],
    ['guardrail', { guardrails: [null] }],
    ['fallback', { fallback: 'openai:gpt' }],
  ])('refuses a wrong %s', (name, options) => {
    expect(refusal(() => defineAgent({ model, ...options } as AgentOptions)).message).toContain(name)
  })

  it.each([
    ['abortSignal', { abortSignal: {} }],
    ['overlays', { overlays: 'hint' }],
    ['remoteTools', { remoteTools: {} }],
    ['journal', { journal: {} }],
    ['budget', { budget: { maxTotalTokens: 1 } }],
  ])('refuses a wrong %s of a run', (name, options) => {
    const error = refusal(() => defineAgent({ model }).run('hi', options as never))
    expect(error.code).toBe('invalid-config')
    expect(error.message).toContain(name)
  })

  it.each([null, 5, 'x', []])('refuses run options that are not an object of options: %j', (options) => {
    expect(refusal(() => defineAgent({ model }).run('go', options as never)).code).toBe('invalid-config')
  })

  it('refuses tools without a usable name', () => {
    const plain = tool({ inputSchema: z.object({}) })
    expect(refusal(() => defineAgent({ model, tools: [plain] as unknown as Tool[] })).code).toBe('invalid-config')
    expect(refusal(() => defineAgent({ model, tools: { b: echo('a').tool } })).message).toContain('tools.b')
  })

  it('accepts tools of both kinds as an object by name', () => {
    const agent = defineAgent({ name: 'n', description: 'd', model, tools: { a: echo('a').tool, b: tool({ inputSchema: z.object({}) }) } })
    expect(agent.tools.map(({ name, effect }) => [name, effect])).toEqual([
      ['a', 'once'],
      ['b', 'once'],
    ])
    expect([agent.name, agent.description]).toEqual(['n', 'd'])
  })
})
