import {
  createOrchestration,
  createStepSequencer,
  memoryStateStore,
  type ChangeOptions,
  type Orchestration,
  type OrchestrationConfig,
  type OrchestrationOptions,
} from '@bowline/sessions'
import type { Usage } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { bench, id, kinds, openStores, startMs, stateWith } from './support.ts'
import { manualClock } from '@bowline/llm/testing'

const stores = openStores()
const space = 'orchestration-state'
const unreadable = {
  schemaVersion: 1,
  keys: [7],
  recentlyUsedTools: [],
  toolHistory: [],
  sequenceIndex: 0,
  usesInStep: 0,
  cumulativeTokenUsage: { promptTokens: null, completionTokens: 0, totalTokens: null },
}

type Change = (orchestration: Orchestration) => Promise<unknown>

const poison: readonly [string, Change, string][] = [
  [
    'tokens that are no number',
    (o) => o.addTokenUsage(id, { inputTokens: Number.NaN }),
    'usage.inputTokens must be a whole number from 0; received NaN',
  ],
  ['a fraction of a token', (o) => o.addTokenUsage(id, { outputTokens: 1.5 }), 'usage.outputTokens'],
  ['fewer than no tokens', (o) => o.addTokenUsage(id, { inputTokens: -3 }), 'received -3'],
  ['tokens as a text', (o) => o.addTokenUsage(id, { inputTokens: '3' } as unknown as Usage), 'received a text of 1 character'],
  ['tokens under another name', (o) => o.addTokenUsage(id, { promptTokens: 3 } as Usage), 'usage has no option "promptTokens"'],
  ['no usage', (o) => o.addTokenUsage(id, undefined as unknown as Usage), 'usage must be an object; received undefined'],
  [
    'a key that is a number',
    (o) => o.addTokenUsage(id, { inputTokens: 1 }, { key: 5 } as unknown as ChangeOptions),
    'key must be a text with at least one character; received 5',
  ],
  ['an empty key', (o) => o.addUsedTool(id, 'a', { key: '' }), 'key'],
  [
    'options that are a key',
    (o) => o.advanceSequence(id, 'call-1' as ChangeOptions),
    'advanceSequence.options must be an object; received a text of 6 characters',
  ],
  [
    'a misspelled option',
    (o) => o.recordToolUse(id, 'a', { keys: 'x' } as ChangeOptions),
    'recordToolUse.options has no option "keys"; did you mean key?',
  ],
  ['usage of a tool that is none', (o) => o.recordToolUse(id, 'a', { usage: { inputTokens: 0.5 } }), 'usage.inputTokens'],
  [
    'a tool that is none',
    (o) => o.recordToolUse(id, 5 as unknown as string),
    'tool must be a text with at least one character; received 5',
  ],
  ['a step that is none', (o) => o.setActiveStep(id, 5 as unknown as string), 'name'],
  ['a step that is absent', (o) => o.setActiveStep(id, undefined as unknown as null), 'name'],
  [
    'a patch with a misspelled field',
    (o) => o.updateState(id, { activStep: 'a' } as object),
    'patch has no option "activStep"; did you mean activeStep?',
  ],
  [
    'a patch with a field of another kind',
    (o) => o.updateState(id, { sequenceIndex: '1' as unknown as number }),
    'patch.sequenceIndex must be a whole number from 0 on; received a text of 1 character',
  ],
  ['a patch that is not there yet', (o) => o.updateState(id, () => Promise.resolve({}) as object), 'patch is not a plain object'],
]

describe('values that could not be read again', () => {
  it.each(poison)('S207, S208: %s is refused and changes nothing', async (_name, change, message) => {
    const { orchestration, store } = bench()
    await orchestration.getOrCreateState(id)
    const before = await store.get(space, id)
    await expect(change(orchestration)).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining(message) as unknown,
    })
    expect(await store.get(space, id)).toEqual(before)
    expect(
      await orchestration.addTokenUsage(id, { inputTokens: 1, outputTokens: undefined } as object, { key: undefined } as object),
    ).toMatchObject({
      cumulativeTokenUsage: { promptTokens: 1, completionTokens: 0, totalTokens: 1 },
    })
  })

  it('S207: a sum that is no longer a safe integer is not written', async () => {
    const { orchestration } = bench()
    await orchestration.getOrCreateState(id)
    const most = Number.MAX_SAFE_INTEGER
    await orchestration.addTokenUsage(id, { inputTokens: most })
    await expect(orchestration.addTokenUsage(id, { inputTokens: 1 })).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('cumulativeTokenUsage') as unknown,
    })
    expect(await orchestration.getState(id)).toMatchObject({ cumulativeTokenUsage: { totalTokens: most } })
  })

  it.each(kinds)('S207: resetState replaces an unreadable state with a fresh one, in %s', async (kind) => {
    const clock = manualClock(startMs)
    const { orchestration, store } = bench({ store: await stores[kind](clock) }, clock)
    await store.compareAndSet(space, id, null, unreadable, { ttlMs: 5_000 })
    await expect(orchestration.getState(id)).rejects.toMatchObject({
      code: 'store-corrupt',
      message: expect.stringContaining('keys must be a list of names') as unknown,
    })
    expect(await orchestration.resetState(id)).toMatchObject({ version: 2, cumulativeTokenUsage: { totalTokens: 0 }, toolHistory: [] })
    expect(await orchestration.addUsedTool(id, 'a')).toMatchObject({ version: 3, recentlyUsedTools: ['a'] })
  })

  it('S52: resetState leaves a state of a later version alone', async () => {
    const { orchestration, store } = bench()
    await store.compareAndSet(space, id, null, { schemaVersion: 2 }, { ttlMs: 5_000 })
    await expect(orchestration.resetState(id)).rejects.toMatchObject({ code: 'schema-too-new' })
    expect(await store.get(space, id)).toMatchObject({ value: { version: 1, value: { schemaVersion: 2 } } })
  })
})

describe('a configuration', () => {
  const step = (more: object): OrchestrationConfig => ({ steps: [{ name: 'a', ...more }] })
  it.each<[string, unknown, string]>([
    ['another name for allow', step({ tools: { allowed: ['read'] } }), 'steps[0].tools has no option "allowed"; did you mean allow?'],
    [
      'another name for denied',
      step({ availableTools: { deny: ['read'] } }),
      'steps[0].availableTools has no option "deny"; did you mean denied?',
    ],
    ['a misspelled field of a step', step({ sequnce: ['a'] }), 'steps[0] has no option "sequnce"; did you mean sequence?'],
    ['a misspelled field of its own', { step: [] }, 'config has no option "step"; did you mean steps?'],
    [
      'a misspelled field of a condition',
      step({ conditions: [{ type: 'tool_count', value: 'a', minimum: 2 }] }),
      'steps[0].conditions[0] has no option "minimum"',
    ],
    ['another field beside a combination', step({ conditions: [{ any: [], all: [] }] }), 'steps[0].conditions[0] has no option "any"'],
    ['a word for a boolean', step({ sticky: 'no' }), 'steps[0].sticky must be true or false; received a text of 2 characters'],
    [
      'a since that is none',
      step({ conditions: [{ type: 'tool_used', value: 'a', since: 'turn' }] }),
      'steps[0].conditions[0].since must be one of step',
    ],
    ['a null step', { steps: [null] }, 'steps[0] must be an object; received null'],
    ['a list', [], 'config must be an object; received a list of 0'],
  ])('S206: %s is refused by name', (_name, config, message) => {
    const refused = expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining(message) as unknown }) as Error
    expect(() => createStepSequencer(config as OrchestrationConfig)).toThrow(refused)
    expect(() => bench({ config: config as OrchestrationConfig })).toThrow(refused)
    expect(() => bench().orchestration.extension(config as OrchestrationConfig)).toThrow(refused)
  })

  it('S206: an undefined field counts as absent', () => {
    const config = {
      steps: [
        {
          name: 'a',
          description: undefined,
          isDefault: undefined,
          sticky: undefined,
          conditions: undefined,
          tools: undefined,
          availableTools: { allowed: undefined, denied: undefined },
          sequence: undefined,
        },
      ],
      pick: undefined,
      description: undefined,
    }
    const sequencer = createStepSequencer(
      config as unknown as OrchestrationConfig,
      { predicates: undefined, onDiagnostic: undefined } as object,
    )
    expect(sequencer.allowed(stateWith({ activeStep: 'a' }), ['x'])).toMatchObject({ step: 'a', tools: ['x'] })
  })

  it.each<[string, object, string]>([
    ['a misspelled option', { ttl: 5 }, 'createOrchestration.options has no option "ttl"; did you mean ttlMs?'],
    ['a misspelled option of the cleanup', { cleanup: { ttlMs: 5 } }, 'cleanup has no option "ttlMs"'],
    ['a cleanup that is a word', { cleanup: true }, 'cleanup must be an object; received true'],
    ['a predicate that is none', { predicates: { ready: true } }, 'predicates.ready must be a function; received true'],
    ['a clock that is none', { clock: Date }, 'clock must be an object with now and setTimer; received a function'],
    ['two stores', { storageProvider: memoryStateStore() }, 'createOrchestration.options has both store and storageProvider'],
  ])('S206, S208: %s of an orchestration is refused by name', (_name, options, message) => {
    const make = () => createOrchestration({ store: memoryStateStore(), ...options })
    expect(make).toThrow(expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining(message) as unknown }) as Error)
  })

  it('S206: an undefined option counts as absent', async () => {
    const none = {
      config: undefined,
      ttlMs: undefined,
      cleanup: { enabled: undefined, intervalMs: undefined, maxSessions: undefined },
      onUnavailable: undefined,
      predicates: undefined,
      clock: undefined,
      ids: undefined,
      random: undefined,
      environment: undefined,
      onDiagnostic: undefined,
    }
    const store = memoryStateStore({ maxRecords: undefined, clock: undefined } as object)
    const orchestration = createOrchestration({
      ...none,
      store,
      namespace: undefined,
      storageProvider: undefined,
      storageNamespace: undefined,
    } as unknown as OrchestrationOptions)
    expect(await orchestration.getOrCreateState(id)).toMatchObject({ version: 1 })
    const other = createOrchestration({
      ...none,
      store: undefined,
      storageProvider: store,
      namespace: undefined,
      storageNamespace: 'mine',
    } as unknown as OrchestrationOptions)
    expect(await other.getState(id)).toBeNull()
    await orchestration.close()
  })
})
