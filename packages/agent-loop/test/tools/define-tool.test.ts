import { jsonSchema, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { adoptTool, AgentError, defineTool } from '../../src/index.ts'
import { toolSetOf } from '../../src/tools/define-tool.ts'
import { declarationOf } from '../../src/tools/tool.ts'
import { echo } from '../support/tools.ts'

const plain = { name: 'w', description: 'weather', inputSchema: {} }

function refusal(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (AgentError.isInstance(error) && error.code === 'invalid-config') return error.message
  }
  throw new Error('it was not refused as invalid-config')
}

describe('defineTool', () => {
  it('has its defaults: once, in parallel, and a time limit only if it runs here', () => {
    expect(defineTool(plain)).toMatchObject({ effect: 'once', sequential: false, timeoutMs: null, maxOutputCharacters: 50_000 })
    expect(defineTool({ ...plain, execute: () => 'x' })).toMatchObject({ timeoutMs: 120_000 })
    expect(defineTool({ ...plain, execute: () => 'x', timeoutMs: null })).toMatchObject({ timeoutMs: null })
    expect(Object.isFrozen(defineTool(plain))).toBe(true)
  })

  it('holds the given options', () => {
    const given = {
      ...plain,
      label: 'Weather',
      effect: 'pure' as const,
      onUnknownOutcome: 'tell-model' as const,
      timeoutMs: 5,
      sequential: true,
      concurrency: 2,
      needsApproval: () => true,
      approvalTimeoutMs: null,
      maxOutputCharacters: 9,
      strict: true,
      inputExamples: [{ input: { a: 1 } }],
      providerOptions: { p: { x: 1 } },
      execute: () => 'x',
      reconcile: () => Promise.resolve({ happened: false as const }),
    }
    expect(defineTool(given)).toMatchObject(given)
    const { name, description, inputSchema, strict, inputExamples, providerOptions } = given
    expect(declarationOf(defineTool(given))).toEqual({ name, description, inputSchema, strict, inputExamples, providerOptions })
    expect(declarationOf(defineTool(plain))).toEqual(plain)
  })

  it.each<[string, unknown]>([
    ['defineTool.options', undefined],
    ['defineTool.options', 'w'],
    ['name', { ...plain, name: 'two words' }],
    ['name', { ...plain, name: '' }],
    ['name', { ...plain, name: 'x'.repeat(65) }],
    ['description', { ...plain, description: undefined }],
    ['inputSchema', { ...plain, inputSchema: null }],
    ['inputSchema', { name: 'w', description: '' }],
    ['label', { ...plain, label: 7 }],
    ['effect', { ...plain, effect: 'twice' }],
    ['onUnknownOutcome', { ...plain, onUnknownOutcome: 'guess' }],
    ['timeoutMs', { ...plain, timeoutMs: 0 }],
    ['timeoutMs', { ...plain, timeoutMs: '5' }],
    ['approvalTimeoutMs', { ...plain, approvalTimeoutMs: -1 }],
    ['sequential', { ...plain, sequential: 'yes' }],
    ['concurrency', { ...plain, concurrency: 0 }],
    ['concurrency', { ...plain, concurrency: null }],
    ['maxOutputCharacters', { ...plain, maxOutputCharacters: 1.5 }],
    ['needsApproval', { ...plain, needsApproval: 'always' }],
    ['execute', { ...plain, execute: 'ls' }],
    ['reconcile', { ...plain, reconcile: {} }],
    ['toModelOutput', { ...plain, toModelOutput: 1 }],
    ['strict', { ...plain, strict: 1 }],
    ['inputExamples', { ...plain, inputExamples: [{ a: 1 }] }],
    ['providerOptions', { ...plain, providerOptions: { p: 1 } }],
    ['retries', { ...plain, retries: 1 }],
    ['from', { ...plain, from: tool({ inputSchema: z.object({}) }) }],
  ])('A2: refuses a wrong %s', (named, options) => {
    expect(refusal(() => defineTool(options as never))).toContain(named)
  })
})

describe('adoptTool', () => {
  it.each<[string, unknown]>([
    ['adoptTool.options', undefined],
    ['name', { from: tool({ inputSchema: z.object({}) }) }],
    ['from', { name: 'w' }],
    ['from', { name: 'w', from: null }],
    ['from', { name: 'w', from: defineTool(plain) }],
    ['execute', { name: 'w', from: tool({ inputSchema: z.object({}) }), execute: () => 'x' }],
    ['provider', { name: 'w', from: { type: 'provider', isProviderExecuted: true, id: 'p.search', args: {}, inputSchema: {} } }],
  ])('A2: refuses a wrong %s', (named, options) => {
    expect(refusal(() => adoptTool(options as never))).toContain(named)
  })
})

describe('tools of an agent', () => {
  it('A4: refuses two tools with one name, whichever side runs them', () => {
    expect(refusal(() => toolSetOf([echo('a').tool, echo('a').tool]))).toContain('"a"')
    expect([...toolSetOf([echo('b').tool, echo('a').tool]).tools.keys()]).toEqual(['b', 'a'])
  })

  it.each<[string, unknown]>([
    ['tools[1]', [echo('a').tool, tool({ inputSchema: z.object({}) })]],
    ['tools.b', { b: echo('a').tool }],
    ['tools.c', { c: 'ls' }],
    ['two words', { 'two words': tool({ inputSchema: z.object({}) }) }],
    ['tools', 'all'],
    ['inputSchema', { d: {} }],
    ['execute', { e: { inputSchema: jsonSchema({}), execute: 'ls' } }],
    ['magic', { f: { type: 'magic', inputSchema: {} } }],
    ['id', { g: { type: 'provider', inputSchema: {} } }],
  ])('refuses a value that is not a tool, and names it: %s', (named, tools) => {
    expect(refusal(() => toolSetOf(tools as never))).toContain(named)
  })
})
