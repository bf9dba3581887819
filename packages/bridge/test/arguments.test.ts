import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as root from '../src/index.ts'
import { BridgeError, createBridge, inProcessExecutor, workerExecutor } from '../src/index.ts'
import * as mcp from '../src/mcp/index.ts'
import * as testing from '../src/testing/index.ts'
import * as worker from '../src/worker/index.ts'
import { bridgeMethods, exportedFunctions, startedBridge } from './arguments-table.ts'
import type { Argument, Kind, Row } from './arguments-table.ts'
import { failureOf, recordingLogger, testAgent } from './support.ts'

const valuesOf: Readonly<Record<Kind, fc.Arbitrary<unknown>>> = {
  null: fc.constant(null),
  boolean: fc.boolean(),
  whole: fc.integer({ min: 1, max: 200 }),
  fraction: fc.double({ min: 0, noNaN: true, noInteger: true, noDefaultInfinity: true }),
  negative: fc.oneof(fc.integer({ max: -1 }), fc.constant(Number.POSITIVE_INFINITY)),
  nan: fc.constant(Number.NaN),
  text: fc.constantFrom('x', 'some.text', '7'),
  blank: fc.constant(''),
  list: fc.constant([]),
  'strange-list': fc.array(fc.constantFrom<unknown>(null, 5, Symbol('x'), () => 1), { minLength: 1, maxLength: 3 }),
  object: fc.constantFrom<unknown>({}, Object.create(null)),
  function: fc.func(fc.anything()),
  symbol: fc.constant(Symbol('x')),
  bigint: fc.bigInt(),
}

function wrongValues(kinds: readonly (Kind | '!')[]): fc.Arbitrary<unknown> {
  return fc.oneof(...Object.entries(valuesOf).flatMap(([kind, values]) => (kinds.includes(kind as Kind) ? [] : [values])))
}

/** What a call threw, rejected with, or told as its result. */
async function errorOf(run: () => unknown): Promise<unknown> {
  try {
    const given = await run()
    const result = typeof given === 'object' && given !== null && 'result' in given ? await (given as root.BridgeRun).result() : given
    return typeof result === 'object' && result !== null && 'ok' in result && result.ok === false ? (result as unknown as { error: unknown }).error : undefined
  } catch (error) {
    return error
  }
}

interface Place {
  readonly row: Row
  readonly position: number
  readonly argument: Argument
  /** Undefined: the argument itself. */
  readonly field?: string
}

function call({ row, position }: Pick<Place, 'row' | 'position'>, value: unknown): Promise<unknown> {
  const given = row.arguments.map(({ valid }, place) => (place === position ? value : valid))
  return errorOf(() => row.call(...(given as never[])))
}

function callWithField(place: Place, field: string, value: unknown): Promise<unknown> {
  return call(place, { ...(place.argument.valid as object), [field]: value })
}

function expectNamed(error: unknown, path: string, code: string): void {
  expect(error, path).toBeInstanceOf(BridgeError)
  const { message, code: given } = error as BridgeError
  expect(message).toContain(path)
  expect(message).not.toContain('undefined is not')
  expect(given).toBe(code)
}

const bridge = await startedBridge()
const { sessionId } = await bridge.createSession()
const exported = exportedFunctions(bridge)
const methods = bridgeMethods(bridge, sessionId)
const places = [...exported, ...methods].flatMap((row) => row.arguments.map((argument, position): Place => ({ row, position, argument })))
/** Definitions and options are `CONFIG`, arguments of calls `PROTOCOL`. */
const codeFor = ({ row }: Place): string => (methods.includes(row) ? 'PROTOCOL' : 'CONFIG')

const values: Readonly<Record<string, string>> = {
  BridgeError: 'a class whose instances agents throw: it must not throw in turn',
  bridgeErrorCodes: 'a list',
  kitApproval: 'an object',
  kitResult: 'an object',
}

describe('arguments of all exports', () => {
  it('S206: each exported function and each method of a bridge has a row', () => {
    const names = [root, mcp, worker, testing].flatMap((module) => Object.keys(module))
    expect(names.filter((name) => !(name in values) && !exported.some((row) => row.name === name))).toEqual([])
    const own = Object.getOwnPropertyNames(Object.getPrototypeOf(bridge)).filter((name) => name !== 'constructor')
    expect(own.filter((name) => !methods.some((row) => row.name === name))).toEqual([])
  })

  it.each(places.map((place) => [place.argument.path, place] as const))('S208: %s of a wrong kind is refused by its path', async (path, place) => {
    const { kinds = [] } = place.argument
    const seed = 7
    const wrong = wrongValues(typeof place.argument.valid === 'object' ? ['object', ...kinds] : kinds)
    await fc.assert(fc.asyncProperty(wrong, async (value) => expectNamed(await call(place, value), path, codeFor(place))), { seed, numRuns: 40 })
    if (kinds.includes('!')) expectNamed(await call(place, undefined), path, codeFor(place))
  })

  const fields = places.flatMap((place) => Object.keys(place.argument.fields ?? {}).map((field) => [`${place.argument.path}: ${field}`, { ...place, field }] as const))
  it.each(fields)('S208: %s of a wrong kind is refused by its path', async (_title, place) => {
    const { path, fields: known = {}, fieldPath = (name) => `${path}.${name}` } = place.argument
    const kinds = known[place.field] ?? []
    const named = fieldPath(place.field)
    await fc.assert(
      fc.asyncProperty(wrongValues(kinds), async (value) => expectNamed(await callWithField(place, place.field, value), named, codeFor(place))),
      { seed: 11, numRuns: 40 },
    )
    if (kinds.includes('!')) expectNamed(await callWithField(place, place.field, undefined), named, codeFor(place))
  })

  const withFields = places.filter(({ argument }) => Object.keys(argument.fields ?? {}).length > 0)
  it.each(withFields.map((place) => [place.argument.path, place] as const))('S206: %s refuses an unknown key with the nearest known one', async (path, place) => {
    for (const field of Object.keys(place.argument.fields ?? {})) {
      const misspelt = `${field}x`
      const error = await callWithField(place, misspelt, 1)
      expectNamed(error, path, codeFor(place))
      expect((error as Error).message).toMatch(new RegExp(`"${misspelt}"; did you mean \\w+\\?`))
    }
    expectNamed(await callWithField(place, 'qqqqqqqqqqqq', 1), 'qqqqqqqqqqqq', codeFor(place))
  })

  const called = withFields.filter(({ row }) => row.notCalled === undefined)
  it.each(called.map((place) => [place.argument.path, place] as const))('S206: %s takes undefined for absent', async (_path, place) => {
    const optional = Object.entries(place.argument.fields ?? {}).filter(([, kinds]) => !kinds.includes('!'))
    const absent = Object.fromEntries(optional.map(([name]) => [name, undefined]))
    const [plain, told] = [await call(place, place.argument.valid), await call(place, { ...absent, ...(place.argument.valid as object) })]
    expect((told as BridgeError | undefined)?.message).toBe((plain as BridgeError | undefined)?.message)
  })
})

describe('what a first user gets wrong', () => {
  it('S206: a bridge whose options are undefined is a bridge without options', async () => {
    const undefinedOptions = { maxInFlight: undefined, maxQueued: undefined, clock: undefined, ids: undefined, authorize: undefined, waitMs: undefined, maxResultBytes: undefined }
    const limits = { ttlMs: undefined, idleMs: undefined, maxSessions: undefined }
    const executors = [inProcessExecutor({ agents: [testAgent('a')], ...limits } as never)]
    const given = createBridge({ ...undefinedOptions, executors, logger: recordingLogger() } as object)
    await given.start()
    expect(await given.delegate({ prompt: 'hi', agentId: undefined, owner: undefined, timeoutMs: undefined } as never).result()).toMatchObject({ ok: true, text: 'a: hi' })
    expect(given.health()).toMatchObject({ sessions: { capacity: 100 }, requests: { capacity: 50 } })
    await given.stop({ deadlineMs: undefined } as object)
    expect(workerExecutor({ workers: [], maxSessions: undefined, ttlMs: undefined } as never).limits).toMatchObject({ maxSessions: 1000, ttlMs: 0 })
  })

  it('S206: a logger that is undefined is the default logger', async () => {
    const quiet = createBridge({ logger: undefined } as object)
    await quiet.start()
    await quiet.stop()
  })

  it.each<[string, () => unknown, string]>([
    ['a path for a store', () => createBridge({ store: 'file.db' } as never), 'createBridge.options.store must be an object with get and compareAndSet and touch and delete and list; received a text of 7 characters'],
    ['an agent for an executor', () => createBridge({ executors: [testAgent('a')] } as never), 'createBridge.options.executors[0] must be an executor (agents go into inProcessExecutor({ agents })); received an object'],
    ['no options', () => (inProcessExecutor as () => unknown)(), 'inProcessExecutor.options must be an object; received undefined'],
    ['another spelling', () => createBridge({ maxInflight: 3 } as never), 'createBridge.options has no option "maxInflight"; did you mean maxInFlight?'],
    ['an option of another thing', () => inProcessExecutor({ agents: [], maxQueued: 3 } as never), 'inProcessExecutor.options has no option "maxQueued"'],
    ['a capability that is one text', () => inProcessExecutor({ agents: [{ ...testAgent('a'), capabilities: 'review' }] } as never), 'inProcessExecutor.options.agents[0].capabilities must be a list; received a text of 6 characters'],
    ['a capability that is none', () => inProcessExecutor({ agents: [{ ...testAgent('a'), capabilities: ['a', null] }] } as never), 'inProcessExecutor.options.agents[0].capabilities[1] must be a text with at least one character; received null'],
    ['a hook that is misspelt', () => inProcessExecutor({ agents: [{ ...testAgent('a'), onSesionCreate: () => {} }] } as never), 'inProcessExecutor.options.agents[0] has no option "onSesionCreate"; did you mean onSessionCreate?'],
  ])('S208: %s', async (_what, run, message) => {
    expect(((await errorOf(run)) as Error).message).toBe(message)
  })

  it('S208: a prompt without arguments is told by its result, with the issue', async () => {
    const error = failureOf(await (bridge.prompt as () => root.BridgeRun)().result())
    expect(error).toMatchObject({ code: 'PROTOCOL', message: 'Invalid input: prompt.input must be an object; received undefined' })
    expect(error.details.issues).toEqual([{ path: 'prompt.input', message: 'must be an object; received undefined' }])
    const several = failureOf(await bridge.prompt({ sessionId: 5, prompt: '', owner: 7, runtimeParams: { temprature: 1 } } as never).result())
    expect(several.details.issues).toEqual([
      { path: 'sessionId', message: 'Invalid input: expected string, received number' },
      { path: 'prompt', message: 'Too small: expected string to have >=1 characters; received an empty text' },
      { path: 'runtimeParams', message: 'has no field "temprature"; did you mean temperature?' },
      { path: 'owner', message: 'must be a text with at least one character; received 7' },
    ])
  })

  it('S206: an agent that is an instance of a class may have fields of its own', () => {
    class Counting implements root.BridgeAgent {
      readonly specificationVersion = 'v1'
      readonly info = { id: 'counting' }
      count = 0
      onPrompt(): root.PromptResult {
        return { text: String((this.count += 1)), stopReason: 'end_turn' }
      }
    }
    expect(inProcessExecutor({ agents: [new Counting()] }).agents()).toMatchObject([{ id: 'counting' }])
  })
})
