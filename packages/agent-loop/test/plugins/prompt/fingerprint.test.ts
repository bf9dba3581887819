import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { jsonSchema } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import '../../../src/node/index.ts'
import { Fingerprints } from '../../../src/run/fingerprint.ts'
import { PromptCache } from '../../../src/plugins/prompt/cache.ts'
import { mergeSections } from '../../../src/plugins/prompt/sections.ts'
import type { PromptSections } from '../../../src/contract/prompt.ts'
import { defineTool } from '../../../src/tools/define-tool.ts'
import type { InputSchema } from '../../../src/contract/tool.ts'
import type { Tool, ToolOptions } from '../../../src/contract/agent.ts'
import { hashDefinitions } from '../../support/hash-definitions.ts'
import type { PlainDefinition } from '../../support/hash-definitions.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const model = { provider: 'openai', modelId: 'gpt' }
const context = { tools: ['weather'], now: Date.UTC(2026, 1, 3) }
const city = z.object({ city: z.string().describe('Its name') })

function weather(options: Partial<ToolOptions<InputSchema>> = {}): Tool {
  return defineTool({ name: 'weather', description: 'The weather', inputSchema: city, execute: () => 'sunny', ...options })
}

function fingerprints(sections: PromptSections = {}, tools: readonly Tool[] = [weather()]) {
  const cache = new PromptCache(mergeSections(sections))
  return { cache, prints: new Fingerprints(tools, cache) }
}

const hashOf = (sections?: PromptSections, tools?: readonly Tool[]) => fingerprints(sections, tools).prints.hash(model)

describe('the fingerprint', () => {
  it('A183: is plain data with the whole prompt and the schemas as JSON Schema', async () => {
    const sections: PromptSections = { system: 'one', memory: () => 'two', footer: { date: true } }
    const print = await fingerprints(sections, [weather({ effect: 'pure' })]).prints.of(model, context)
    expect(print).toEqual({
      hash: expect.stringMatching(/^[\w-]{43}$/),
      instructions: 'one\n\ntwo\n\nDate: 2026-02-03',
      model,
      tools: [
        {
          name: 'weather',
          description: 'The weather',
          inputSchema: expect.objectContaining({
            type: 'object',
            properties: { city: { type: 'string', description: 'Its name' } },
            required: ['city'],
          }),
          effect: 'pure',
        },
      ],
    })
    expect(JSON.parse(JSON.stringify(print))).toEqual(print)
  })

  it('the hash covers model, tools and static sections', async () => {
    const { prints } = fingerprints()
    const hashes = [
      await prints.hash(model),
      await prints.hash({ ...model, provider: 'azure' }),
      await prints.hash({ ...model, modelId: 'gpt-2' }),
      await hashOf({}, []),
      await hashOf({}, [weather({ name: 'forecast' })]),
      await hashOf({}, [weather({ description: 'Other' })]),
      await hashOf({}, [weather({ effect: 'pure' })]),
      await hashOf({}, [weather({ inputSchema: z.object({ place: z.string() }) })]),
      await hashOf({}, [weather(), weather({ name: 'forecast' })]),
      ...(await Promise.all(
        [
          { system: 'x' },
          { soul: 'x', append: 'y' },
          { append: 'x' },
          { memory: 'x' },
          { user: 'x' },
          { platform: { slack: 'x' } },
          { platform: { web: 'x' } },
          { skills: [{ name: 'n', description: 'd', location: 'l' }] },
          { docs: { folder: import.meta.dirname } },
          { docs: { folder: import.meta.dirname, topics: ['t'] } },
        ].map((sections) => hashOf(sections)),
      )),
    ]
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  it('the hash leaves out functions, footer, channel, time and everything that exists only as code', async () => {
    const expected = await hashOf({ append: 'x' })
    const others: readonly PromptSections[] = [
      { append: 'x', memory: () => 'm', platform: { slack: () => 'p' } },
      { append: 'x', footer: { date: true, workingFolder: '/x', lines: ['y'], sessionKey: true } },
    ]
    for (const sections of others) expect(await hashOf(sections)).toBe(expected)
    expect(await hashOf({ append: 'x' }, [weather({ execute: () => 'rain', timeoutMs: 5, label: 'Weather' })])).toBe(expected)
    const { prints } = fingerprints({ append: 'x' })
    for (const channel of ['slack', 'web']) expect((await prints.of(model, { ...context, channel, now: 0, tools: [] })).hash).toBe(expected)
  })

  it('equal schemas with another order of keys give one hash', async () => {
    const { $schema, properties } = z.toJSONSchema(city, { target: 'draft-7' })
    const plain = { type: 'object', additionalProperties: false, required: ['city'], properties, $schema } as const
    const hashes = await Promise.all(
      [city, jsonSchema(plain as never), plain].map((inputSchema) => hashOf({}, [weather({ inputSchema: inputSchema as never })])),
    )
    expect(new Set(hashes)).toEqual(new Set([hashes[0]]))
  })

  it('a file counts by its text, read once until the cache is cleared, and a missing file is looked for again', async () => {
    const folder = await temporaryFolder()
    const file = `${folder.path}/soul.md`
    const { cache, prints } = fingerprints({ soul: { file } })
    const missing = await prints.hash(model)
    await folder.write('soul.md', 'one')
    const first = await prints.hash(model)
    expect([missing === first, first]).toEqual([false, await hashOf({ soul: 'one' })])
    await folder.write('soul.md', 'two')
    expect(await prints.hash(model)).toBe(first)
    cache.invalidate()
    expect(await prints.hash(model)).toBe(await hashOf({ soul: 'two' }))
  })

  it('texts that JSON cannot carry do not make it fail', async () => {
    expect(await hashOf({ system: 'a\uD800' }, [weather({ description: '\uDC00' })])).toMatch(/^[\w-]{43}$/)
  })

  it('S208: a tool definition refuses a schema that cannot be read', () => {
    const broken = {
      get type() {
        throw new Error('broken')
      },
    }
    expect(() => weather({ inputSchema: broken as never })).toThrow('inputSchema cannot be read: Error: broken')
  })

  it('rejects if a schema cannot be created', async () => {
    const broken = () => {
      throw new Error('broken')
    }
    await expect(hashOf({}, [weather({ inputSchema: broken as never })])).rejects.toThrow('broken')
  })

  it('is the same in another process, for any definition', async () => {
    const definitions: readonly PlainDefinition[] = fc.sample(
      fc.record(
        {
          modelId: fc.string(),
          system: fc.string({ unit: 'grapheme' }),
          platform: fc.dictionary(fc.string({ minLength: 1 }), fc.string()),
          tools: fc.uniqueArray(fc.stringMatching(/^[a-z]{1,8}$/), { maxLength: 4 }),
          schema: fc.dictionary(
            fc.stringMatching(/^[a-z]{1,8}$/),
            fc.constantFrom({ type: 'string' as const }, { type: 'number' as const, minimum: 0.1 }),
          ),
        },
        { noNullPrototype: true },
      ),
      { numRuns: 40, seed: 7 },
    )
    const script = `import { hashDefinitions } from ${JSON.stringify(new URL('../../support/hash-definitions.ts', import.meta.url).href)}
console.log(JSON.stringify(await hashDefinitions(${JSON.stringify(definitions)})))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    expect(JSON.parse(stdout)).toEqual(await hashDefinitions(definitions))
  })
})
