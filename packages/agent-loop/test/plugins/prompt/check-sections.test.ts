import { describe, expect, it } from 'vitest'
import { AgentError } from '../../../src/base/agent-error.ts'
import type { PromptSections } from '../../../src/contract/prompt.ts'
import { checkPromptSections, sectionsOf } from '../../../src/plugins/prompt/sections.ts'

function refusal(instructions: unknown): AgentError {
  try {
    sectionsOf(instructions as PromptSections)
  } catch (error) {
    if (AgentError.isInstance(error)) return error
  }
  throw new Error('nothing was refused')
}

describe('sectionsOf', () => {
  it('a text, a file or a function alone is used as the system text', () => {
    const ask = () => 'x'
    expect(sectionsOf('Be brief.')).toEqual({ system: 'Be brief.' })
    expect(sectionsOf({ file: 'a.md' })).toEqual({ system: { file: 'a.md' } })
    expect(sectionsOf(ask)).toEqual({ system: ask })
  })

  it('no instructions mean no prompt, and no sections the default identity', () => {
    expect(sectionsOf(undefined)).toEqual({ system: '' })
    expect(sectionsOf({})).toEqual({})
  })

  it('accepts every section', () => {
    const sections: PromptSections = {
      system: 'a',
      soul: { file: 'b' },
      docs: { folder: 'docs', topics: ['x'] },
      append: () => 'c',
      memory: 'd',
      user: 'e',
      skills: [{ name: 'n', description: 'd', location: 'l' }],
      platform: { slack: 'f' },
      footer: { date: true, workingFolder: '/x', lines: ['g'], sessionKey: true },
    }
    expect(sectionsOf(sections)).toBe(sections)
  })

  it.each([
    [{ sytem: 'x' }, 'instructions has no option "sytem"'],
    [{ file: 'x', system: 'y' }, 'instructions has no option "file"'],
    [5, 'instructions must be an object'],
    [['a'], 'instructions must be an object'],
    [{ append: 5 }, 'instructions.append must be a text, a { file } or a function'],
    [{ memory: { file: 'x', other: 1 } }, 'instructions.memory must be'],
    [{ docs: {} }, 'instructions.docs.folder must be a text'],
    [{ docs: { folder: 'x', topics: 'y' } }, 'instructions.docs.topics must be a list'],
    [{ skills: {} }, 'instructions.skills must be a list'],
    [{ skills: [{ name: 'x', description: 'y' }] }, 'instructions.skills[0].location must be a text'],
    [{ skills: [[{ name: 'x' }]] }, 'instructions.skills[0][0].description must be a text'],
    [{ platform: { slack: 1 } }, 'instructions.platform.slack must be'],
    [{ footer: { time: true } }, 'instructions.footer has no option "time"'],
    [{ footer: { date: 'x' } }, 'instructions.footer.date must be true or false'],
  ])('refuses %j', (instructions, message) => {
    const error = refusal(instructions)
    expect(error.code).toBe('invalid-config')
    expect(error.message).toContain(message)
  })

  it('accepts some sections from an extension and refuses others', () => {
    expect(() => checkPromptSections('promptSections of notes', { append: 'x', skills: [] })).not.toThrow()
    expect(() => checkPromptSections('promptSections of notes', { system: 'x' })).toThrow('promptSections of notes has no option "system"')
  })
})
