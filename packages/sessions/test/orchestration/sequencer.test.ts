import { describe, expect, it } from 'vitest'
import {
  createOrchestration,
  createStepSequencer,
  type Condition,
  type OrchestrationConfig,
  type OrchestrationDiagnostic,
  type OrchestrationStep,
  type Predicates,
  type SequencerOptions,
} from '@bowline/sessions'
import { stateWith } from './support.ts'

const used = (value: string): Condition => ({ type: 'tool_used', value })
const sequencer = (steps: readonly OrchestrationStep[], options: Partial<OrchestrationConfig> & SequencerOptions = {}) => {
  const { predicates, onDiagnostic, ...config } = options
  return createStepSequencer({ steps, ...config }, { ...(predicates && { predicates }), ...(onDiagnostic && { onDiagnostic }) })
}
const chosen = (steps: readonly OrchestrationStep[], state = stateWith(), options: Partial<OrchestrationConfig> = {}) =>
  sequencer(steps, options).select(state).step?.name
/** Returns true if a single condition of a step holds. No other step is the default. */
const holds = (condition: Condition, state = stateWith(), context = {}, predicates: Predicates = {}) =>
  createStepSequencer(
    {
      steps: [
        { name: 'it', conditions: [condition], sequence: ['own1', 'own2'] },
        { name: 'active', sequence: ['x', 'y'] },
      ],
    },
    { predicates },
  ).select(state, context).step?.name === 'it'

describe('the configuration', () => {
  it.each([
    ['steps[0].name', [{ name: '' }]],
    ['steps[1].name', [{ name: 'a' }, { name: 'a' }]],
    ['steps[2].name', [{ name: 'a' }, { name: 'b' }, { name: 'a' }]],
    [
      'steps[1].isDefault',
      [
        { name: 'a', isDefault: true },
        { name: 'b', isDefault: true },
      ],
    ],
    ['steps[0].conditions[0].name', [{ name: 'a', conditions: [{ type: 'predicate', name: 'none' }] }]],
    [
      'steps[0].conditions[0].all[1].not.name',
      [{ name: 'a', conditions: [{ all: [used('x'), { not: { type: 'predicate', name: 'toString' } }] }] }],
    ],
    ['steps[0].conditions[0].any[0].value', [{ name: 'a', conditions: [{ any: [{ type: 'tool_used' }] }] }]],
    ['steps[0].conditions[0].min', [{ name: 'a', conditions: [{ type: 'tokens', min: -1 }] }]],
    ['steps[0].conditions[0]', [{ name: 'a', conditions: [{ type: 'sequence_match' }] }]],
    ['steps[0].conditions[0]', [{ name: 'a', conditions: ['tool_used'] }]],
    ['steps[0].conditions', [{ name: 'a', conditions: used('x') }]],
    ['steps[0].sequence', [{ name: 'a', sequence: [] }]],
    ['steps[0].sequence[1]', [{ name: 'a', sequence: ['x', []] }]],
    ['steps[0].sequence[1]', [{ name: 'a', sequence: ['x', ['y', 'del_all']], tools: { deny: ['del_*'] } }]],
    ['steps[0].sequence[0]', [{ name: 'a', sequence: ['x'], availableTools: { denied: ['x'] } }]],
    ['steps[0].tools.allow', [{ name: 'a', tools: { allow: 'x' } }]],
    ['steps[0].availableTools', [{ name: 'a', tools: {}, availableTools: {} }]],
    ['steps', 'a'],
  ])('O21: a wrong value is named by its path: %s', (place, steps) => {
    const message = expect.stringContaining(`: ${place} `) as unknown
    expect(() => createStepSequencer({ steps: steps as never })).toThrow(expect.objectContaining({ code: 'invalid-config', message }))
  })

  const types =
    'must be one of tool_used, tool_not_used, tool_count, step_is, message_contains, sequence_match, sequence_done, tokens, turns, predicate'
  it.each<[string, unknown, Predicates, string]>([
    ['a misspelled type', { type: 'tool_usd', value: 'a' }, {}, `${types}; received "tool_usd"; did you mean tool_used?`],
    ['another style of a type', { type: 'toolUsed', value: 'a' }, {}, `${types}; received "toolUsed"; did you mean tool_used?`],
    ['a type that is like no other', { type: 'weather' }, {}, `${types}; received "weather".`],
    ['a type of every object', { type: 'toString' }, {}, `${types}; received "toString".`],
    ['no type', { value: 'a' }, {}, `${types}; received undefined.`],
    ['an empty type', { type: '' }, {}, `${types}; received an empty text.`],
    ['a type that is no text', { type: 5 }, {}, `${types}; received 5.`],
    [
      'the name of a predicate',
      { type: 'ready' },
      { ready: () => true },
      `${types} (registered predicates: ready); received "ready"; did you mean { type: 'predicate', name: "ready" }?`,
    ],
    [
      'almost the name of a predicate',
      { type: 'redy' },
      { done: () => true, ready: () => true },
      `${types} (registered predicates: done, ready); received "redy"; did you mean { type: 'predicate', name: "ready" }?`,
    ],
    [
      'a type beside predicates',
      { type: 'tokenz' },
      { done: () => true },
      `${types} (registered predicates: done); received "tokenz"; did you mean tokens?`,
    ],
  ])('O21: %s is refused by its path, with the valid values', (_name, condition, predicates, message) => {
    for (const [asked, below] of [
      [condition, ''],
      [{ any: [used('x'), { all: [{ not: condition }] }] }, '.any[1].all[0].not'],
    ] as const) {
      const steps = [
        { name: 'a', isDefault: true },
        { name: 'b', conditions: [asked as Condition] },
      ]
      const expected = expect.objectContaining({
        code: 'invalid-config',
        message: `The orchestration cannot be used: steps[1].conditions[0]${below}.type ${message}`,
      }) as Error
      expect(() => createStepSequencer({ steps }, { predicates })).toThrow(expected)
      expect(() => createOrchestration({ config: { steps }, predicates })).toThrow(expected)
      expect(() => createOrchestration({ predicates }).extension({ steps })).toThrow(expected)
    }
  })

  it('O21: valid values are accepted, and pick must be one of two', () => {
    const steps: OrchestrationStep[] = [
      { name: 'a', isDefault: true, sequence: ['x', ['y', 'z']] },
      { name: 'b', conditions: [{ type: 'predicate', name: 'mine' }] },
    ]
    expect(() => createStepSequencer({ steps, pick: 'newest' }, { predicates: { mine: () => true } })).not.toThrow()
    expect(() => createStepSequencer({ steps: [], pick: 'last' as never })).toThrow(/pick/)
  })

  it('O22: steps that can never become active, or that allow nothing, are reported', () => {
    const steps: OrchestrationStep[] = [
      { name: 'start', isDefault: true },
      { name: 'lost' },
      { name: 'first', conditions: [used('a'), used('b')] },
      { name: 'second', conditions: [used('b'), used('a')] },
      { name: 'own1', conditions: [{ type: 'sequence_match' }], sequence: ['a'] },
      { name: 'own2', conditions: [{ type: 'sequence_match' }], sequence: ['b'] },
      { name: 'shut', conditions: [used('c')], tools: { allow: [] } },
      { name: 'barred', conditions: [used('d')], tools: { deny: ['*'] } },
    ]
    const kinds = (pick: 'first' | 'newest') =>
      sequencer(steps, { pick })
        .explain()
        .map(({ kind, step }) => `${step}: ${kind}`)
    expect(kinds('first')).toEqual(['lost: unreachable', 'second: shadowed', 'shut: empty', 'barred: empty'])
    expect(kinds('newest')).toEqual(['lost: unreachable', 'shut: empty', 'barred: empty'])
  })

  it('O22: a sequence that its own allow list blocks is reported, with the tool, its position and where it stops', () => {
    const steps: OrchestrationStep[] = [
      { name: 'fits', isDefault: true, sequence: ['read_file', ['save', 'send']], tools: { allow: ['read_*', 'save', 'send'] } },
      { name: 'open', conditions: [used('a')], sequence: ['x', 'y'], tools: { deny: ['z'] } },
      { name: 'narrow', conditions: [used('b')], sequence: ['read_file', ['save', 'send']], tools: { allow: ['read_*', 'send'] } },
      { name: 'stops', conditions: [used('c')], sequence: ['x', ['y', 'z'], 'Y'], availableTools: { allowed: ['x', 'zz'] } },
    ]
    expect(sequencer(steps).explain()).toEqual([
      { kind: 'blocked', step: 'narrow', message: 'The sequence of narrow names tools that its allow leaves out: "save" at sequence[1].' },
      {
        kind: 'blocked',
        step: 'stops',
        message:
          'The sequence of stops names tools that its allow leaves out: "y" at sequence[1], "z" at sequence[1], "Y" at sequence[2]. It stops at sequence[1], where no tool is allowed.',
      },
    ])
    const state = stateWith({ activeStep: 'stops', sequenceIndex: 1 })
    expect(sequencer(steps).allowed(state, ['x', 'y', 'z', 'zz'])).toMatchObject({ step: 'stops', tools: [] })
  })
})

describe('selection', () => {
  it('O23: all conditions must hold', () => {
    const steps = [{ name: 'both', conditions: [used('a'), used('b')] }]
    expect([['a'], ['b'], ['a', 'b']].map((uses) => chosen(steps, stateWith({ uses })))).toEqual([undefined, undefined, 'both'])
  })

  it('O24: of several matching steps the first in order is chosen, or the one with the newest use', () => {
    const steps: OrchestrationStep[] = [
      { name: 'a', conditions: [used('a')] },
      { name: 'b', conditions: [{ any: [used('b'), used('never')] }] },
      { name: 'b too', conditions: [{ type: 'tool_count', value: 'b', min: 1 }] },
      { name: 'always', conditions: [{ type: 'tool_not_used', value: 'never' }] },
    ]
    const uses = ['b', 'a', 'b', 'other']
    expect([chosen(steps, stateWith({ uses })), chosen(steps, stateWith({ uses }), { pick: 'newest' })]).toEqual(['a', 'b'])
    expect(chosen(steps, stateWith({ uses: ['b', 'a'] }), { pick: 'newest' })).toBe('a')
    expect(chosen([...steps].reverse(), stateWith({ uses }), { pick: 'newest' })).toBe('b too')
  })

  it('O25: the default is never entered by its conditions', () => {
    const steps = [
      { name: 'start', isDefault: true, conditions: [used('a')] },
      { name: 'b', conditions: [used('b')] },
    ]
    const state = stateWith({ uses: ['b', 'a'], activeStep: 'b' })
    expect(chosen(steps, state)).toBe('b')
    expect(chosen(steps, stateWith({ uses: ['a'], activeStep: 'b' }))).toBe('b')
    expect(chosen(steps)).toBe('start')
  })

  it('O26: without a match the active step stays, unless it is not sticky', () => {
    const steps = (sticky?: boolean) => [
      { name: 'start', isDefault: true },
      { name: 'b', conditions: [{ type: 'tool_used', value: 'b', since: 'step' } as const], ...(sticky === undefined ? {} : { sticky }) },
      { name: 'bare', ...(sticky === undefined ? {} : { sticky }) },
    ]
    const state = stateWith({ activeStep: 'b', uses: ['b'], usesInStep: 0 })
    expect([undefined, true, false].map((sticky) => chosen(steps(sticky), state))).toEqual(['b', 'b', 'start'])
    expect(chosen(steps(false), stateWith({ activeStep: 'b', uses: ['b'], usesInStep: 1 }))).toBe('b')
    expect([undefined, false].map((sticky) => chosen(steps(sticky), stateWith({ activeStep: 'bare' })))).toEqual(['bare', 'start'])
    expect(sequencer(steps(false).slice(1)).select(state)).toEqual({ changed: true, because: 'no step matches and there is no default' })
  })

  it('O27: an active step that is no longer configured is replaced by the default, and this is reported', () => {
    const diagnostics: OrchestrationDiagnostic[] = []
    const { select } = sequencer([{ name: 'start', isDefault: true }], { onDiagnostic: (d) => diagnostics.push(d) })
    expect(select(stateWith({ activeStep: 'gone' }))).toMatchObject({ step: { name: 'start' }, changed: true })
    expect(diagnostics.map(({ code, step }) => `${code} ${step}`)).toEqual(['step-missing gone', 'selected start'])
  })

  it('O40: a repeated call has the same result, and changes nothing', () => {
    const steps: OrchestrationStep[] = [
      { name: 'a', conditions: [used('a')], sequence: ['x'] },
      { name: 'start', isDefault: true },
    ]
    const state = Object.freeze(stateWith({ uses: ['a'] }))
    const text = JSON.stringify(state)
    const ask = () => {
      const asked = sequencer(steps)
      return [
        asked.select(state, { message: 'm' }),
        asked.allowed(state, ['x', 'y']),
        asked.applyToolUse(state, 'x'),
        asked.expected(state),
      ]
    }
    expect(ask()).toEqual(ask())
    expect(JSON.stringify(state)).toBe(text)
  })
})

describe('conditions', () => {
  it('O28: sequence_match compares the sequence from the oldest use to the newest', () => {
    const uses = ['z', 'a', 'b', 'c']
    const match = (...value: string[]) => holds({ type: 'sequence_match', value }, stateWith({ uses }))
    expect([
      match('a', 'b', 'c'),
      match('c', 'b', 'a'),
      match('b', 'c'),
      match('a', 'b'),
      match('z', 'a', 'b', 'c'),
      match('y', 'z', 'a', 'b', 'c'),
    ]).toEqual([true, false, true, false, true, false])
    expect(holds({ type: 'sequence_match' }, stateWith({ uses: ['own1', 'own2'] }))).toBe(true)
    expect(holds({ type: 'sequence_match' }, stateWith({ uses: ['own2', 'own1'] }))).toBe(false)
  })

  it('O28: sequence_match accepts any alternative at a position of its own sequence', () => {
    const steps = [{ name: 'it', conditions: [{ type: 'sequence_match' } as const], sequence: ['a', ['b', 'c']] }]
    expect(
      [
        ['a', 'b'],
        ['a', 'c'],
        ['b', 'a'],
        ['a', 'd'],
      ].map((uses) => chosen(steps, stateWith({ uses }))),
    ).toEqual(['it', 'it', undefined, undefined])
  })

  it('O29: sequence_match handles repeated tools and a hundred uses', () => {
    expect(holds({ type: 'sequence_match', value: ['a', 'a', 'b', 'a'] }, stateWith({ uses: ['a', 'a', 'b', 'a'] }))).toBe(true)
    expect(holds({ type: 'sequence_match', value: ['a', 'a', 'b', 'a'] }, stateWith({ uses: ['a', 'b', 'a'] }))).toBe(false)
    const value = Array.from({ length: 100 }, (_, index) => `t${index % 7}`)
    expect(holds({ type: 'sequence_match', value }, stateWith({ uses: value }))).toBe(true)
    expect(holds({ type: 'sequence_match', value }, stateWith({ uses: [...value.slice(0, 99), 'x'] }))).toBe(false)
  })

  it('O23: each kind of condition works', () => {
    const state = stateWith({
      uses: ['a', 'b', 'b'],
      usesInStep: 2,
      activeStep: 'active',
      sequenceIndex: 2,
      cumulativeTokenUsage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 },
      data: { ready: true },
    })
    const predicates = {
      ready: ({ state: given, args, message }: Parameters<Predicates[string]>[0]) =>
        given?.data?.['ready'] === true && args === 5 && message === 'Write it DOWN',
    }
    const context = { message: 'Write it DOWN', turns: 3 }
    const yes: readonly Condition[] = [
      ...[
        used('a'),
        { type: 'tool_used', value: 'b', since: 'step' },
        { type: 'tool_not_used', value: 'c' },
        { type: 'tool_not_used', value: 'a', within: 2 },
      ],
      ...[
        { type: 'tool_count', value: 'b', min: 2, max: 2 },
        { type: 'tool_count', value: 'c', max: 0 },
        { type: 'step_is', value: 'active' },
        { type: 'sequence_done' },
      ],
      ...[
        { type: 'message_contains', value: 'it down' },
        { type: 'tokens', min: 7 },
        { type: 'tokens', max: 7 },
        { type: 'turns', min: 3, max: 3 },
      ],
      ...[
        { type: 'predicate', name: 'ready', args: 5 },
        { all: [] },
        { all: [used('a'), used('b')] },
        { any: [used('c'), used('b')] },
        { not: used('c') },
      ],
    ] as readonly Condition[]
    const no: readonly Condition[] = [
      ...[
        used('c'),
        { type: 'tool_used', value: 'a', since: 'step' },
        { type: 'tool_not_used', value: 'a' },
        { type: 'tool_not_used', value: 'a', within: 3 },
      ],
      ...[
        { type: 'tool_count', value: 'b', min: 3 },
        { type: 'tool_count', value: 'b', max: 1 },
        { type: 'step_is', value: 'Active' },
      ],
      ...[
        { type: 'message_contains', value: 'it.*down' },
        { type: 'tokens', min: 8 },
        { type: 'tokens', max: 6 },
        { type: 'turns', max: 2 },
      ],
      ...[
        { type: 'predicate', name: 'ready', args: 6 },
        { any: [] },
        { all: [used('a'), used('c')] },
        { any: [used('c')] },
        { not: used('a') },
      ],
    ] as readonly Condition[]
    expect(yes.filter((condition) => !holds(condition, state, context, predicates))).toEqual([])
    expect(no.filter((condition) => holds(condition, state, context, predicates))).toEqual([])
    expect(holds({ type: 'sequence_done' }, stateWith({ activeStep: 'active', sequenceIndex: 1 }))).toBe(false)
    expect(holds({ type: 'sequence_done' })).toBe(false)
    const unknown = [{ type: 'turns' }, { type: 'message_contains', value: 'a' }] as const
    expect(unknown.flatMap((condition) => [holds(condition), holds({ not: condition })])).toEqual([false, false, false, false])
  })

  it('O41: a condition that throws does not hold, nor does its negation, and this is reported', () => {
    const diagnostics: OrchestrationDiagnostic[] = []
    const predicates = {
      broken: () => {
        throw new TypeError('secret')
      },
      odd: () => 'yes' as never,
    }
    const condition: Condition = { type: 'predicate', name: 'broken' }
    for (const asked of [
      condition,
      { not: condition },
      { all: [condition] },
      { any: [condition] },
      { not: { any: [condition, used('never')] } },
    ]) {
      const { step } = sequencer([{ name: 'it', conditions: [asked] }], { predicates, onDiagnostic: (d) => diagnostics.push(d) }).select(
        stateWith(),
      )
      expect(step).toBeUndefined()
    }
    expect(holds({ any: [condition, used('a')] }, stateWith({ uses: ['a'] }), {}, predicates)).toBe(true)
    expect(diagnostics).toHaveLength(5)
    expect(diagnostics.every(({ code, step }) => code === 'condition-failed' && step === 'it')).toBe(true)
    expect(JSON.stringify(diagnostics)).not.toContain('secret')
    expect(holds({ type: 'predicate', name: 'odd' }, stateWith(), {}, predicates)).toBe(false)
  })
})

describe('tools', () => {
  const allowed = (
    step: Omit<OrchestrationStep, 'name' | 'isDefault'>,
    offered: readonly string[],
    state = stateWith({ activeStep: 'it' }),
  ) => sequencer([{ name: 'it', ...step }]).allowed(state, offered).tools

  it('O30: names match exactly; a star matches any characters, and no other character is special', () => {
    const offered = ['read', 'Read', 'read_file', 'file_read', 'a.c', 'abc', '', 'x[1]', '*']
    const matching = (...allow: string[]) => allowed({ tools: { allow } }, offered)
    expect(matching('read')).toEqual(['read'])
    expect(matching('read*')).toEqual(['read', 'read_file'])
    expect(matching('*read*')).toEqual(['read', 'read_file', 'file_read'])
    expect(matching('r*d')).toEqual(['read'])
    expect(matching('a.c')).toEqual(['a.c'])
    expect(matching('a?c', 'x[0-9]', 'READ')).toEqual([])
    expect(matching('*')).toEqual(offered)
    expect(matching('**f*e**')).toEqual(['read_file', 'file_read'])
    expect(allowed({ tools: { allow: ['ab*ba'] } }, ['aba', 'abba', 'abxba'])).toEqual(['abba', 'abxba'])
  })

  it('O30: a pattern that would make others backtrack is matched at once', () => {
    const long = 'a'.repeat(200_000)
    const pattern = `${'a*'.repeat(2_000)}b`
    expect(allowed({ tools: { allow: [pattern] } }, [long, `${long}b`])).toEqual([`${long}b`])
  })

  it('O31: deny beats allow', () => {
    expect(allowed({ tools: { allow: ['a', 'b'], deny: ['b', 'c*'] } }, ['a', 'b', 'cc'])).toEqual(['a'])
    expect(allowed({ tools: { deny: ['b'] } }, ['a', 'b'])).toEqual(['a'])
    expect(allowed({ availableTools: { allowed: ['a', 'b'], denied: ['b'] } }, ['a', 'b', 'c'])).toEqual(['a'])
  })

  it('O32: an empty list allows nothing, an absent one all', () => {
    expect(allowed({ tools: { allow: [] } }, ['a'])).toEqual([])
    expect(allowed({ tools: {} }, ['a'])).toEqual(['a'])
    expect(allowed({}, ['a'])).toEqual(['a'])
  })

  it('O33: the allowed tools are a part of the offered ones, in the same order', () => {
    expect(allowed({ tools: { allow: ['z', 'a', 'not offered'] } }, ['b', 'a', 'z'])).toEqual(['a', 'z'])
    expect(allowed({ sequence: ['s'], tools: { allow: ['s'] } }, [])).toEqual([])
  })

  const sequence = ['a', ['b', 'c'], 'a']
  const at = (sequenceIndex: number) => stateWith({ activeStep: 'it', sequenceIndex })

  it('O34: a sequence allows only its next tools, as far as the lists allow them', () => {
    const offered = ['a', 'b', 'c', 'd']
    expect([0, 1, 2].map((index) => allowed({ sequence }, offered, at(index)))).toEqual([['a'], ['b', 'c'], ['a']])
    expect([0, 1].map((index) => allowed({ sequence, tools: { allow: ['b', 'd'] } }, offered, at(index)))).toEqual([[], ['b']])
    const { expected } = sequencer([{ name: 'it', sequence }])
    expect([0, 1, 3].map((index) => expected(at(index)))).toEqual([['a'], ['b', 'c'], null])
    expect(expected(stateWith())).toBeNull()
  })

  it('O35: if the next tool is not offered, nothing is allowed, and this is reported', () => {
    const diagnostics: OrchestrationDiagnostic[] = []
    const asked = sequencer([{ name: 'it', sequence }], { onDiagnostic: (d) => diagnostics.push(d) })
    expect(asked.allowed(at(1), ['a', 'd']).tools).toEqual([])
    expect(diagnostics.map(({ code }) => code)).toEqual(['tool-not-offered', 'decided'])
    expect(diagnostics[1]?.dropped).toEqual(['a', 'd'].map((tool) => ({ tool, reason: 'the sequence expects b or c' })))
  })

  it('O36: after the end of a sequence the lists apply again', () => {
    expect(allowed({ sequence, tools: { allow: ['a', 'd'], deny: ['d'] } }, ['a', 'b', 'd'], at(3))).toEqual(['a'])
    expect(allowed({ sequence, tools: { allow: [] } }, ['a'], at(3))).toEqual([])
  })

  it('O37: the expected tool advances the sequence, any other is only recorded, and after the end nothing advances', () => {
    const { applyToolUse } = sequencer([{ name: 'it', sequence }])
    const after = (index: number, tool: string) => applyToolUse(at(index), tool).sequenceIndex
    expect([after(0, 'a'), after(1, 'c'), after(2, 'a')]).toEqual([1, 2, 3])
    expect([after(0, 'b'), after(3, 'a')]).toEqual([undefined, undefined])
    expect(applyToolUse(at(0), 'other', { at: 5, key: 'k' })).toEqual({
      recentlyUsedTools: ['other'],
      toolHistory: [{ tool: 'other', at: 5, key: 'k' }],
      usesInStep: 1,
    })
  })

  it('O37: the first use counts in the step that allowed it, even if no step was active before', async () => {
    const steps: OrchestrationStep[] = [{ name: 'it', isDefault: true, sequence }]
    expect(sequencer(steps).applyToolUse(stateWith(), 'a')).toMatchObject({ activeStep: 'it', sequenceIndex: 1, usesInStep: 1 })
    const orchestration = createOrchestration({ config: { steps } })
    await orchestration.getOrCreateState('room:1')
    expect((await orchestration.allowedTools('room:1', ['a', 'b', 'c'])).tools).toEqual(['a'])
    expect(await orchestration.recordToolUse('room:1', 'a')).toMatchObject({ activeStep: 'it', sequenceIndex: 1, usesInStep: 1 })
    expect((await orchestration.allowedTools('room:1', ['a', 'b', 'c'])).tools).toEqual(['b', 'c'])
  })

  it('O38: without an active step every offered tool is allowed', () => {
    const decision = sequencer([{ name: 'it', conditions: [used('a')], tools: { allow: [] } }]).allowed(stateWith(), ['a', 'b'])
    expect(decision).toEqual({ tools: ['a', 'b'], reasons: [] })
  })
})
