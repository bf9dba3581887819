import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineExtension, defineExtensions, extensionTools } from '../../src/agent/define-extension.ts'
import type { Extension } from '../../src/contract/extension.ts'
import { defineTool } from '../../src/tools/define-tool.ts'
import { bench } from '../plugins/extensions/support.ts'

const tool = (name: string) => defineTool({ name, description: name, inputSchema: z.object({}) })
const given = (options: object): Extension => ({ name: 'x', hooks: {}, ...options })

describe('defineExtension', () => {
  it.each([
    ['defineExtension.options has no option "hook"; did you mean hooks?', { hook: {} }],
    ['defineExtension.options.name must be a text that is not blank; received a text of 1 character', { name: ' ' }],
    ['the extension x: timeoutMs must be a whole number from 1', { timeoutMs: 0 }],
    ['the extension x: onError must be one of ignore, fail, reject', { onError: 'explode' }],
    ['the extension x: deltas must be true or false', { deltas: 'yes' }],
    ['the extension x: hooks must be an object', { hooks: undefined }],
    ['the extension x: hooks has no option "onInpt"; did you mean onInput?', { hooks: { onInpt: () => undefined } }],
    ['the extension x: hooks.onInput must be a function', { hooks: { onInput: 'continue' } }],
    ['the extension x: promptSections has no option "system"', { promptSections: { system: 'be' } }],
    ['the extension x: guardrails must be a list', { guardrails: {} }],
    ['the extension x: guardrails[0].name must be a text that is not blank; received undefined', { guardrails: [{}] }],
    ['the extension x: promptSections.append must be a text, a { file } or a function; received 5', { promptSections: { append: 5 } }],
    ['the extension x: tools[0] must be made by defineTool', { tools: [{ name: 'a' }] }],
    ['the extension x: tools has two tools named "a"', { tools: [tool('a'), tool('a')] }],
    ['the extension x: tools.b has the name "a"', { tools: { b: tool('a') } }],
  ])('refuses: %s', (message, options) => {
    expect(() => defineExtension(given(options))).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining(message) as string }),
    )
  })

  it('returns a frozen extension that is defined only once', () => {
    const hooks = { onSettled: () => undefined }
    const extension = defineExtension(given({ hooks }))
    hooks.onSettled = () => expect.fail('a later change')
    expect(Object.isFrozen(extension)).toBe(true)
    expect(Object.isFrozen(extension.hooks)).toBe(true)
    expect(extension.hooks.onSettled).not.toBe(hooks.onSettled)
    expect(defineExtension(extension)).toBe(extension)
  })

  it('accepts a class instance whose hooks are methods and which has fields of its own', async () => {
    class Counter {
      turns = 0
      onTurnStart(): void {
        this.turns += 1
      }
    }
    const counter = new Counter()
    const { hooks } = bench([defineExtension(given({ hooks: counter }))])
    await hooks.tell('onTurnStart', { turn: 1, resumed: false })
    expect(counter.turns).toBe(1)
  })

  it('refuses two extensions with one name', () => {
    expect(() => defineExtensions([given({}), given({})])).toThrow('two extensions named "x"')
    expect(defineExtensions([given({}), given({ name: 'y' })]).map(({ name }) => name)).toEqual(['x', 'y'])
  })
})

describe('tools of extensions', () => {
  it('A5: lose against tools of the agent and of earlier extensions with the same name', () => {
    const extensions = [
      given({ tools: [tool('read'), tool('extra')] }),
      given({ name: 'y', tools: { extra: tool('extra'), more: tool('more') } }),
    ]
    const { tools, diagnostics } = extensionTools(defineExtensions(extensions), ['read'])
    expect([...tools.keys()]).toEqual(['extra', 'more'])
    expect(diagnostics).toEqual([
      { kind: 'tool', name: 'read', message: expect.stringContaining('extension x is not used') as string },
      { kind: 'tool', name: 'extra', message: expect.stringContaining('extension y is not used') as string },
    ])
  })
})
