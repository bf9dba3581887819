import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../src/bin/load-config.ts'
import { BridgeError } from '../src/errors.ts'
import { serversIn } from '../src/executors/remote/remote-executor.ts'
import { workersIn } from '../src/executors/worker.ts'
import { bridgeOptionChecks } from '../src/settings.ts'

interface Schema {
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly enum?: readonly unknown[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}

const schema = JSON.parse(await readFile(join(import.meta.dirname, '../config.schema.json'), 'utf8')) as Schema
const validate = new AjvJsonSchemaValidator().getValidator(schema)
const folder = await mkdtemp(join(tmpdir(), 'config-schema-'))
afterAll(() => rm(folder, { recursive: true }))

/** Loads the file like the command, without starting anything. Returns whether it is accepted. */
async function isTaken(config: unknown): Promise<boolean> {
  const file = join(folder, 'bowline.bridge.json')
  await writeFile(file, JSON.stringify(config))
  try {
    const {
      config: { workers = [], servers = [] },
      place,
    } = await loadConfig(undefined, folder)
    workersIn(place, { workers })
    serversIn(place.path, { servers })
    return true
  } catch (error) {
    if (BridgeError.isInstance(error) && error.code === 'CONFIG') return false
    throw error
  }
}

/** Returns the configurations that schema and loader judge differently. */
async function differences(configs: readonly unknown[]): Promise<readonly unknown[]> {
  const different: unknown[] = []
  for (const config of configs) if (validate(config).valid !== (await isTaken(config))) different.push(config)
  return different
}

const ofEachKind = [
  -1,
  0,
  1,
  1.5,
  1e300,
  '',
  'x',
  'a b',
  'http://127.0.0.1',
  true,
  null,
  [],
  [''],
  ['x'],
  [1],
  [null],
  {},
  { x: 'y' },
  { x: '' },
  { x: 1 },
  { x: null },
]

/**
 * Returns values of each JSON kind, and values at and above the limits of the field. For records, also one object per field and
 * value.
 */
function valuesFor({ minimum = 0, maximum = 0, enum: words = [], properties = {}, items }: Schema): readonly unknown[] {
  const inside = Object.entries(properties).flatMap(([name, field]) => valuesFor(field).map((value) => ({ [name]: value })))
  return [
    ...ofEachKind,
    minimum - 1,
    minimum,
    maximum,
    maximum + 1,
    ...words,
    ...inside,
    ...(items?.properties ? [] : valuesForItems(items)),
  ]
}

function valuesForItems(items: Schema | undefined): readonly unknown[] {
  return items ? valuesFor(items).map((value) => ['x', value]) : []
}

const propertiesOf = ({ properties = {} }: Schema = {}) => Object.entries(properties)
const itemsOf = (list: string) => propertiesOf(schema.properties?.[list]?.items)
const worker = { id: 'w', command: 'node' }
const server = { id: 's', baseUrl: 'http://127.0.0.1' }

describe('B124: the schema of the configuration', () => {
  it.each([
    ['the bridge', propertiesOf(schema).flatMap(([name, field]) => valuesFor(field).map((value) => ({ [name]: value })))],
    [
      'a worker',
      itemsOf('workers').flatMap(([name, field]) => valuesFor(field).map((value) => ({ workers: [{ ...worker, [name]: value }] }))),
    ],
    // A schema cannot tell which texts are valid addresses.
    [
      'a server',
      itemsOf('servers').flatMap(([name, field]) =>
        valuesFor(field)
          .filter((value) => name !== 'baseUrl' || typeof value !== 'string')
          .map((value) => ({ servers: [{ ...server, [name]: value }] })),
      ),
    ],
  ])('accepts and refuses each value of each field of %s as the loader does', async (_what, configs) => {
    expect(configs.length).toBeGreaterThan(200)
    expect(await differences(configs)).toEqual([])
  })

  it.each<[string, readonly unknown[]]>([
    ['what is no object', [null, [], 'x', 1]],
    [
      'absent fields',
      [
        {},
        { workers: [worker] },
        { workers: [{ id: 'w', entry: './w.ts' }] },
        { workers: [{}] },
        { workers: [{ id: 'w' }] },
        { workers: [{ command: 'node' }] },
        { servers: [server] },
        { servers: [{ id: 's' }] },
        { servers: [{ baseUrl: 'http://x' }] },
      ],
    ],
    [
      'unknown fields',
      [
        { worker: [] },
        { workers: [{ ...worker, url: 'x' }] },
        { workers: [{ ...worker, restart: { max: 1 } }] },
        { servers: [{ ...server, command: 'x' }] },
        { servers: [{ ...server, reconnect: { max: 1 } }] },
        { redact: { field: ['x'] } },
      ],
    ],
    ['a command beside an entry', [{ workers: [{ ...worker, entry: './w.ts' }] }]],
  ])('accepts and refuses as the loader does: %s', async (_what, configs) => {
    expect(await differences(configs)).toEqual([])
  })

  it('has every option except those that need code, for which the loader accepts only an empty list', async () => {
    const needsCode = ['executors', 'store', 'authorize', 'onEvent', 'clock', 'ids', 'logger']
    const options = Object.keys(bridgeOptionChecks).filter((name) => !needsCode.includes(name))
    expect(Object.keys(schema.properties ?? {}).sort()).toEqual(['$schema', ...options, 'servers', 'workers'].sort())
    for (const name of [...needsCode, 'runtimes']) {
      for (const value of ofEachKind)
        expect([name, value, (await isTaken({ [name]: value })) && JSON.stringify(value) !== '[]']).toEqual([name, value, false])
    }
  })

  it('is at the path in the examples of the README, and accepts them, as the loader does', async () => {
    const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8')
    const blocks = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(
      ([, text = '']) => JSON.parse(text) as Readonly<Record<string, unknown>>,
    )
    const examples = blocks.filter((block) => '$schema' in block || 'workers' in block)
    const { name, files } = JSON.parse(await readFile(join(import.meta.dirname, '../package.json'), 'utf8')) as {
      readonly name: string
      readonly files: readonly string[]
    }
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) {
      expect(example['$schema']).toBe(`./node_modules/${name}/config.schema.json`)
      expect(validate(example)).toMatchObject({ valid: true })
      expect(await isTaken(example)).toBe(true)
    }
    expect(files).toContain('config.schema.json')
  })
})
