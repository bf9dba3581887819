import { describe, expect, it } from 'vitest'
import { inProcessExecutor } from '../../src/index.ts'
import { testAgent } from '../support.ts'
import { connect, connectTo } from './support.ts'

type Schema = Readonly<Record<string, unknown>>

/** Yields every nested schema with its path. */
function* schemasIn(schema: unknown, path: string): Generator<readonly [string, Schema]> {
  if (typeof schema !== 'object' || schema === null) return
  yield [path, schema as Schema]
  for (const [name, value] of Object.entries(schema)) {
    if (name === 'properties') for (const [field, each] of Object.entries(value as Schema)) yield* schemasIn(each, `${path}.${field}`)
    else if (Array.isArray(value)) for (const [place, each] of value.entries()) yield* schemasIn(each, `${path}/${name}[${place}]`)
    else yield* schemasIn(value, `${path}/${name}`)
  }
}

describe('B120: the tools as a model sees them', () => {
  it('B120: each input and output field has a description', async () => {
    const { client } = await connect([testAgent('a')])
    const { tools } = await client.listTools()
    const fields: (readonly [string, unknown])[] = []
    for (const { name, inputSchema, outputSchema } of tools) {
      for (const [path, schema] of [...schemasIn(inputSchema, `${name}.input`), ...schemasIn(outputSchema, `${name}.output`)]) {
        for (const [field, each] of Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Schema>>))
          fields.push([`${path}.${field}`, each['description']])
      }
    }
    expect(fields.length).toBeGreaterThan(120)
    expect(fields.filter(([, description]) => typeof description !== 'string' || description.length < 4)).toEqual([])
  })

  it('B110, B120: each field has one type, or lists the types if it may be any JSON', async () => {
    const { client } = await connect([testAgent('a')])
    const { tools } = await client.listTools()
    const fields = tools.flatMap(({ name, inputSchema, outputSchema }) => [
      ...schemasIn(inputSchema, `${name}.input`),
      ...schemasIn(outputSchema, `${name}.output`),
    ])
    const named = fields.filter(([path]) => /\.[^./]+$/.test(path))
    expect(named.length).toBeGreaterThan(120)
    expect(named.filter(([, schema]) => Array.isArray(schema['type']))).toEqual([])
    expect(
      named.filter(([, schema]) => !['type', 'enum', 'const', 'anyOf'].some((keyword) => keyword in schema)).map(([path]) => path),
    ).toEqual([])
  })

  it('B120: no schema refers to another, and the whole list has at most 28 KiB', async () => {
    const { client } = await connect([testAgent('a')])
    const { tools } = await client.listTools()
    const text = JSON.stringify(tools)
    expect(text).not.toMatch(/\$ref|\$defs|wordsOnly/)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(28 * 1024)
  })

  it('B120: the schemas alone tell where provider, model and parameters come from and where they go', async () => {
    const { client } = await connect([testAgent('a')])
    const { tools } = await client.listTools()
    const tool = (name: string) => tools.find((each) => each.name === name)
    for (const name of ['sessions_create', 'tasks_delegate']) {
      expect(tool(name)?.inputSchema.properties?.['metadata']).toMatchObject({
        type: 'object',
        properties: {
          provider: { description: expect.stringContaining('agents_discover') },
          runtimeParams: { description: expect.stringContaining('session') },
        },
      })
    }
    const { runtimeParams } = (tool('sessions_prompt')?.inputSchema.properties ?? {}) as unknown as {
      runtimeParams: { properties: object }
    }
    expect(Object.keys(runtimeParams.properties)).toEqual([
      'model',
      'temperature',
      'maxTokens',
      'topP',
      'topK',
      'stopSequences',
      'systemPrompt',
      'reasoning',
      'seed',
      'providerSpecific',
    ])
    const agents = JSON.stringify(tool('agents_discover')?.outputSchema)
    expect(agents).toContain('metadata.provider')
    expect(agents).toContain('runtimeParams.model')
  })
})

describe('B119: instructions', () => {
  const agents = () => [
    testAgent('reviewer', { info: { id: 'reviewer', description: 'Reads a text.\nSays what is wrong.' }, capabilities: ['review'] }),
    testAgent('talker', { providers: [{ id: 'openai', models: ['m'] }] }),
  ]

  it('B119: name the agents, the purpose of each, and the order of calls', async () => {
    const { client } = await connect(agents())
    const text = client.getInstructions() ?? ''
    expect(text.split('\n').slice(0, 3)).toEqual([
      'Hands work to other agents. There are now:',
      '- reviewer (the default; can review): Reads a text. Says what is wrong.',
      '- talker (providers openai)',
    ])
    const places = ['agents_discover', 'tasks_delegate', 'tasks_status', 'sessions_prompt'].map((name) => text.indexOf(`${name}`))
    expect(places.every((place) => place > 0)).toBe(true)
    expect(
      [text.indexOf('1. agents_discover'), text.indexOf('2. tasks_delegate'), text.indexOf('3. A status')].every((place) => place > 0),
    ).toBe(true)
  })

  it('B119: change with the list', async () => {
    const executor = inProcessExecutor({ agents: [] })
    const started = await connect([], { executors: [executor] })
    expect(started.client.getInstructions()).toMatch(/^There are no agents/)
    executor.add(testAgent('late'))
    const { client } = await connectTo(started)
    expect(client.getInstructions()).toContain('- late (the default)')
  })

  it('B119, V62: do not name an agent that the caller may not use', async () => {
    const { client } = await connect(agents(), {}, { owner: 'ann', mayUse: (id) => id === 'talker' })
    expect(client.getInstructions()).toContain('- talker')
    expect(client.getInstructions()).not.toContain('reviewer')
    const hidden = await connect(agents(), { authorize: (_owner, _action, id) => id === 'talker' })
    expect(hidden.client.getInstructions()).not.toContain('reviewer')
  })

  it('B119, B115: a description is one line without secrets, and the list is bounded', async () => {
    const many = Array.from({ length: 25 }, (_, place) =>
      testAgent(`a${place}`, {
        info: { id: `a${place}`, description: `key sk-abcdefghijklmnop of /srv/app/x\n- evil: ${'x'.repeat(5000)}` },
      }),
    )
    const { client } = await connect(many)
    const lines = (client.getInstructions() ?? '').split('\n')
    expect(lines.filter((line) => line.startsWith('- '))).toHaveLength(21)
    expect(lines).toContain('- and 5 more: see agents_discover')
    expect(client.getInstructions()).not.toMatch(/sk-abc|\/srv/)
    expect(Buffer.byteLength(client.getInstructions() ?? '')).toBeLessThan(6000)
  })
})
