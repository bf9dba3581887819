import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as root from '../src/index.ts'
import { BridgeError, createBridge, inProcessExecutor, workerExecutor } from '../src/index.ts'
import * as mcp from '../src/mcp/index.ts'
import * as testing from '@bowline/testing/executors'
import * as worker from '../src/worker/index.ts'
import { refusedProblems, takenProblems, testedPlaces } from '../../../scripts/argument-table.ts'
import type { TableOptions } from '../../../scripts/argument-table.ts'
import { randomRuns } from '../../../scripts/test-length.ts'
import { bridgeMethods, exportedFunctions, startedBridge, tableRow } from './arguments-table.ts'
import { failureOf, recordingLogger, testAgent } from './support.ts'

/** Returns the error that a call threw, rejected with, or returned as its result. */
async function errorOf(run: () => unknown): Promise<unknown> {
  try {
    const given = await run()
    const result = typeof given === 'object' && given !== null && 'result' in given ? await (given as root.BridgeRun).result() : given
    return typeof result === 'object' && result !== null && 'ok' in result && result.ok === false
      ? (result as unknown as { error: unknown }).error
      : undefined
  } catch (error) {
    return error
  }
}

const oddItem = fc.constantFrom<unknown>(null, 5, Symbol('x'), () => 1)
const anyValue = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
  fc.func(fc.anything()),
  fc.array(oddItem, { minLength: 1, maxLength: 3 }),
  fc.integer({ max: -1 }),
  fc.double(),
)

const bridge = await startedBridge()
const { sessionId } = await bridge.createSession()
const exported = exportedFunctions(bridge)
const methods = bridgeMethods(bridge, sessionId)
/** Violations are `CONFIG` in definitions and options, and `PROTOCOL` in arguments of calls. */
function optionsWith(code: string): TableOptions {
  const isRefusal = (error: unknown): error is Error =>
    BridgeError.isInstance(error) && error.code === code && !error.message.includes('undefined is not')
  return { isRefusal, isTaken: (error) => BridgeError.isInstance(error) && error.code !== code }
}

const tables = [
  ...exported.map((row) => ({ row, options: optionsWith('CONFIG') })),
  ...methods.map((row) => ({ row, options: optionsWith('PROTOCOL') })),
]
const titled = tables.map(
  ({ row, options }) =>
    [`${row.name}(${row.arguments.map(({ path }) => path).join(', ')})`, { row, table: tableRow(row), options }] as const,
)

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

  it.each(titled)('S206, S208: %s of a wrong kind is refused by its path', async (_title, { table, options }) => {
    expect(await refusedProblems(table, options)).toEqual([])
  })

  it.each(titled)('S208: any value as %s is accepted or refused by its path', async (_title, { table, options }) => {
    for (const { takes, refusalProblem } of testedPlaces(table, options)) {
      const wrong = anyValue.filter((value) => !takes(value))
      const property = fc.asyncProperty(wrong, async (value) => {
        expect(await refusalProblem(value)).toBeUndefined()
      })
      await fc.assert(property, randomRuns(15))
    }
  })

  it.each(titled)('S206: an unknown key of %s is refused with the nearest known one', async (_title, { table, row, options }) => {
    for (const [position, { fields = {}, path }] of row.arguments.entries()) {
      for (const field of Object.keys(fields)) {
        const misspelt = table
          .good()
          .map((argument, index) => (index === position ? { ...(argument as object), [`${field}x`]: 1 } : argument))
        const error = await errorOf(() => table.call(...(misspelt as never[])))
        expect(options.isRefusal(error)).toBe(true)
        expect((error as Error).message).toContain(`${path} has no option "${field}x"; did you mean `)
      }
    }
  })

  const called = titled.filter(([, { row }]) => row.notCalled === undefined)
  it.each(called)('S206: %s accepts valid values, and undefined for absent', async (_title, { table, options }) => {
    expect(await takenProblems(table, options)).toEqual([])
  })
})

describe('mistakes of a first user', () => {
  it('S206: a bridge with undefined as options is a bridge without options', async () => {
    const undefinedOptions = {
      maxInFlight: undefined,
      maxQueued: undefined,
      clock: undefined,
      ids: undefined,
      authorize: undefined,
      waitMs: undefined,
      maxResultBytes: undefined,
    }
    const limits = { ttlMs: undefined, idleMs: undefined, maxSessions: undefined }
    const executors = [inProcessExecutor({ agents: [testAgent('a')], ...limits } as never)]
    const given = createBridge({ ...undefinedOptions, executors, logger: recordingLogger() } as object)
    await given.start()
    expect(
      await given.delegate({ prompt: 'hi', agentId: undefined, owner: undefined, timeoutMs: undefined } as never).result(),
    ).toMatchObject({ ok: true, text: 'a: hi' })
    expect(given.health()).toMatchObject({ sessions: { capacity: 100 }, requests: { capacity: 50 } })
    await given.stop({ deadlineMs: undefined } as object)
    expect(workerExecutor({ workers: [], maxSessions: undefined, ttlMs: undefined } as never).limits).toMatchObject({
      maxSessions: 1000,
      ttlMs: 0,
    })
  })

  it('S206: undefined as logger means the default logger', async () => {
    const quiet = createBridge({ logger: undefined } as object)
    await quiet.start()
    await quiet.stop()
  })

  it.each<[string, () => unknown, string]>([
    [
      'a path for a store',
      () => createBridge({ store: 'file.db' } as never),
      'store must be an object with get and compareAndSet and touch and delete and list; received a text of 7 characters',
    ],
    [
      'an agent for an executor',
      () => createBridge({ executors: [testAgent('a')] } as never),
      'executors[0] must be an executor (agents go into inProcessExecutor({ agents })); received an object',
    ],
    ['no options', () => (inProcessExecutor as () => unknown)(), 'inProcessExecutor.options must be an object; received undefined'],
    [
      'another spelling',
      () => createBridge({ maxInflight: 3 } as never),
      'createBridge.options has no option "maxInflight"; did you mean maxInFlight?',
    ],
    [
      'an option of another thing',
      () => inProcessExecutor({ agents: [], maxQueued: 3 } as never),
      'inProcessExecutor.options has no option "maxQueued"; known are agents, ttlMs, idleMs, maxSessions',
    ],
    [
      'a capability that is one text',
      () => inProcessExecutor({ agents: [{ ...testAgent('a'), capabilities: 'review' }] } as never),
      'agents[0].capabilities must be a list; received a text of 6 characters',
    ],
    [
      'a capability that is none',
      () => inProcessExecutor({ agents: [{ ...testAgent('a'), capabilities: ['a', null] }] } as never),
      'agents[0].capabilities[1] must be a text with at least one character; received null',
    ],
    [
      'a hook that is misspelt',
      () => inProcessExecutor({ agents: [{ ...testAgent('a'), onSesionCreate: () => {} }] } as never),
      'agents[0] has no option "onSesionCreate"; did you mean onSessionCreate?',
    ],
  ])('S208: %s', async (_what, run, message) => {
    expect(((await errorOf(run)) as Error).message).toBe(message)
  })

  it('S208: a prompt without arguments gets a result with the issue', async () => {
    const error = failureOf(await (bridge.prompt as () => root.BridgeRun)().result())
    expect(error).toMatchObject({ code: 'PROTOCOL', message: 'Invalid input: prompt.input must be an object; received undefined' })
    expect(error.details.issues).toEqual([{ path: 'prompt.input', message: 'must be an object; received undefined' }])
    const several = failureOf(
      await bridge.prompt({ sessionId: 5, prompt: '', owner: 7, runtimeParams: { temprature: 1 } } as never).result(),
    )
    expect(several.details.issues).toEqual([
      { path: 'prompt.input.sessionId', message: 'must be a text; received 5' },
      { path: 'prompt.input.prompt', message: 'must be a text that is not blank; received an empty text' },
      { path: 'prompt.input.runtimeParams', message: 'has no field "temprature"; did you mean temperature?' },
      { path: 'prompt.input.owner', message: 'must be a text with at least one character; received 7' },
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
