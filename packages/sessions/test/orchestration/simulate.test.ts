import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import {
  createStepSequencer,
  simulateOrchestration,
  type Condition,
  type OrchestrationConfig,
  type OrchestrationDiagnostic,
  type OrchestrationState,
  type OrchestrationStep,
  type Predicates,
  type SimulatedUse,
} from '@bowline/sessions'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { bench, id, stateWith } from './support.ts'

const plan: OrchestrationConfig = {
  steps: [
    { name: 'look', isDefault: true, sequence: ['search', ['read', 'open']] },
    {
      name: 'write',
      conditions: [
        {
          any: [
            { type: 'tool_used', value: 'read' },
            { type: 'tool_used', value: 'open' },
          ],
        },
      ],
      tools: { allow: ['save*', 'search'], deny: ['save_all'] },
    },
  ],
}
const predicates: Predicates = {
  ready: ({ state }) => (state?.toolHistory.length ?? 0) % 3 === 2,
  broken: () => {
    throw new TypeError('secret')
  },
}

describe('the simulation', () => {
  it('O40: says for each use the step, the allowed tools, and why', () => {
    const { uses, end } = simulateOrchestration(plan, ['read', 'search', 'open', 'save_all'], {
      offered: ['search', 'read', 'open', 'save', 'save_all'],
    })
    expect(
      uses.map(({ tool, allowed, reason, step, sequenceIndex, because, tools }) => [
        tool,
        allowed,
        reason,
        step,
        sequenceIndex,
        because,
        tools,
      ]),
    ).toEqual([
      ['read', false, 'the sequence expects search', 'look', 0, 'it is the default', ['search']],
      ['search', true, 'it is next in the sequence', 'look', 0, 'it stays active', ['search']],
      ['open', true, 'it is next in the sequence', 'look', 1, 'it stays active', ['read', 'open']],
      ['save_all', false, 'it is denied', 'write', 0, 'its conditions hold', ['search', 'save']],
    ])
    expect(uses[0]?.conditions).toEqual([])
    expect(end).toEqual({
      step: 'write',
      because: 'its conditions hold',
      conditions: [{ type: 'tool_used', value: 'open' }],
      sequenceIndex: 0,
      tools: ['search', 'save'],
      reasons: [
        { tool: 'search', allowed: true, reason: 'it is among the allowed tools' },
        { tool: 'read', allowed: false, reason: 'it is not among the allowed tools' },
        { tool: 'open', allowed: false, reason: 'it is not among the allowed tools' },
        { tool: 'save', allowed: true, reason: 'it is among the allowed tools' },
        { tool: 'save_all', allowed: false, reason: 'it is denied' },
      ],
    })
  })

  it('O23: messages, turns and tokens apply from their use on, and the conditions that hold are named', () => {
    const both: Condition = { all: [{ type: 'turns', min: 2 }, { not: { type: 'tool_used', value: 'b' } }] }
    const steps: OrchestrationStep[] = [
      { name: 'dear', conditions: [{ type: 'tokens', min: 10 }] },
      { name: 'late', conditions: [both] },
      { name: 'asked', conditions: [{ type: 'message_contains', value: 'please' }], tools: { deny: ['x'] } },
    ]
    const uses: readonly (string | SimulatedUse)[] = [
      'x',
      { tool: 'a', message: 'Please' },
      'x',
      { tool: 'a', turns: 2 },
      { tool: 'b', usage: { inputTokens: 6, outputTokens: 4 } },
    ]
    const simulated = simulateOrchestration({ steps }, uses)
    expect(simulated.uses.map(({ step, allowed, reason }) => [step, allowed, reason])).toEqual([
      [undefined, true, 'no step is active'],
      ['asked', true, 'it is not denied'],
      ['asked', false, 'it is denied'],
      ['late', true, 'it is not denied'],
      ['late', true, 'it is not denied'],
    ])
    expect(simulated.uses[3]?.conditions).toEqual([{ type: 'turns', min: 2 }, { not: { type: 'tool_used', value: 'b' } }])
    expect(simulated.end).toMatchObject({ step: 'dear', conditions: [{ type: 'tokens', min: 10 }] })
    expect(simulated.uses[0]?.because).toBe('no step matches and there is no default')
  })

  it('O33: a tool that is not offered is refused; by default every named tool is offered', () => {
    const { uses } = simulateOrchestration({ steps: [] }, ['a', 'b'], { offered: ['a'] })
    expect(uses).toMatchObject([
      { tool: 'a', allowed: true, tools: ['a'] },
      { tool: 'b', allowed: false, reason: 'it is not offered' },
    ])
    const conditions: Condition[] = [
      { not: { type: 'tool_used', value: 'c' } },
      { any: [{ type: 'sequence_match', value: ['d', 'a'] }] },
      { type: 'tokens', min: 1 },
    ]
    const { end } = simulateOrchestration(
      { steps: [{ name: 's', sequence: ['a', ['b', 'a']], tools: { allow: ['*', 'e'], deny: ['f*'] }, conditions }] },
      ['g', 'a'],
    )
    expect(end.tools).toEqual(['e', 'a', 'b', 'c', 'd', 'g'])
  })

  it('O41: a condition that throws is reported, without the text of its error', () => {
    const diagnostics: OrchestrationDiagnostic[] = []
    const { end } = simulateOrchestration({ steps: [{ name: 's', conditions: [{ type: 'predicate', name: 'broken' }] }] }, [], {
      predicates,
      onDiagnostic: (d) => diagnostics.push(d),
    })
    expect(end).toMatchObject({ because: 'no step matches and there is no default', conditions: [] })
    expect(diagnostics.map(({ code }) => code)).toEqual(['condition-failed', 'decided'])
    expect(JSON.stringify(diagnostics)).not.toContain('secret')
  })

  it.each<[string, readonly unknown[], string]>([
    ['uses that are no list', [plan, 'search'], 'uses must be a list; received a text of 6 characters'],
    ['an empty name', [plan, ['a', '']], 'uses[1] must be a text with at least one character; received an empty text'],
    ['a use that is a number', [plan, [5]], 'uses[0] must be the name of a tool, or an object with tool; received 5'],
    ['a use without a tool', [plan, [{ message: 'm' }]], 'uses[0].tool must be a text with at least one character; received undefined'],
    ['a misspelled field', [plan, ['a', { tool: 'a', mesage: 'm' }]], 'uses[1] has no option "mesage"; did you mean message?'],
    [
      'a fraction of a token',
      [plan, [{ tool: 'a', usage: { inputTokens: 0.5 } }]],
      'uses[0].usage.inputTokens must be a whole number from 0; received 0.5',
    ],
    ['turns below none', [plan, [{ tool: 'a', turns: -1 }]], 'uses[0].turns must be a whole number from 0; received -1'],
    [
      'an offered tool that is none',
      [plan, [], { offered: ['a', 5] }],
      'offered[1] must be a text with at least one character; received 5',
    ],
    ['a misspelled option', [plan, [], { tools: ['a'] }], 'simulateOrchestration.options has no option "tools"'],
    [
      'a type that is not known',
      [{ steps: [{ name: 'a', conditions: [{ type: 'ready' }] }] }, [], { predicates }],
      'steps[0].conditions[0].type must be one of',
    ],
  ])('S206, S208: %s is refused by its place', (_name, given, message) => {
    const simulate = simulateOrchestration as (...args: readonly unknown[]) => unknown
    expect(() => simulate(...given)).toThrow(
      expect.objectContaining({
        code: expect.stringMatching(/^invalid-(config|input)$/) as unknown,
        message: expect.stringContaining(message) as unknown,
      }) as Error,
    )
  })
})

const tools = ['a', 'b', 'c', 'd'] as const
const tool = fc.constantFrom(...tools)
const pattern = fc.constantFrom(...tools, '*', 'a*')
const stepNames = ['s0', 's1', 's2', 's3']
const small = fc.integer({ min: 0, max: 3 })
const free: fc.Arbitrary<Condition>[] = [
  fc.record({ type: fc.constant('tool_used' as const), value: tool }),
  tool.map((value) => ({ type: 'tool_used', value, since: 'step' })),
  tool.map((value) => ({ type: 'tool_not_used', value })),
  fc.record({ type: fc.constant('tool_not_used' as const), value: tool, within: small }),
  fc.record({ type: fc.constant('sequence_match' as const), value: fc.array(tool, { minLength: 1, maxLength: 3 }) }),
  fc.record({ type: fc.constant('tool_count' as const), value: tool, min: small }),
  fc.constantFrom(...stepNames).map((value) => ({ type: 'step_is', value })),
  fc.constant({ type: 'sequence_done' }),
  small.map((min) => ({ type: 'tokens', min: min * 5 })),
  fc.constantFrom('ready', 'broken').map((name) => ({ type: 'predicate', name })),
]
const asked: fc.Arbitrary<Condition>[] = [
  fc.constantFrom('x', 'y').map((value) => ({ type: 'message_contains', value })),
  small.map((max) => ({ type: 'turns', max })),
]

function conditionOf(leaves: readonly fc.Arbitrary<Condition>[]): fc.Arbitrary<Condition> {
  const leaf = fc.oneof(...leaves)
  const list = fc.array(leaf, { maxLength: 2 })
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    list.map((all) => ({ all })),
    list.map((any) => ({ any })),
    leaf.map((not) => ({ not })),
  )
}

/** Some configurations are refused, since a sequence must not name a denied tool. */
function configOf(leaves: readonly fc.Arbitrary<Condition>[]): fc.Arbitrary<OrchestrationConfig> {
  const lists = fc.record(
    { allow: fc.array(pattern, { minLength: 1, maxLength: 3 }), deny: fc.array(tool, { maxLength: 1 }) },
    { requiredKeys: [] },
  )
  const sequence = fc.array(fc.oneof(tool, fc.uniqueArray(tool, { minLength: 1, maxLength: 2 })), { minLength: 1, maxLength: 3 })
  const step = fc.record(
    { conditions: fc.array(conditionOf(leaves), { maxLength: 2 }), sticky: fc.boolean(), tools: lists, sequence },
    { requiredKeys: [] },
  )
  return fc
    .record({
      steps: fc.array(step, { maxLength: stepNames.length }),
      chosen: fc.nat(5),
      pick: fc.constantFrom('first' as const, 'newest' as const),
    })
    .map(({ steps, chosen, pick }) => ({
      pick,
      steps: steps.map((each, index) => ({
        ...each,
        name: stepNames[index] ?? '',
        isDefault: index === chosen,
      })) as readonly OrchestrationStep[],
    }))
    .filter(isTaken)
}

function isTaken(config: OrchestrationConfig): boolean {
  return config.steps.every(({ tools: lists, sequence = [] }) => !sequence.flat().some((each) => lists?.deny?.includes(each)))
}

const usage = fc.record({ inputTokens: small, outputTokens: small })
const usesOf = (fields: { readonly [Field in keyof SimulatedUse]?: fc.Arbitrary<SimulatedUse[Field]> } = {}) =>
  fc.array(fc.record({ ...fields, tool }, { requiredKeys: ['tool'] }) as fc.Arbitrary<SimulatedUse>, { maxLength: 12 })

/** Applies a patch as its documentation says. */
function patched(
  state: OrchestrationState,
  { activeStep, ...patch }: ReturnType<ReturnType<typeof createStepSequencer>['applyToolUse']>,
): OrchestrationState {
  const { activeStep: before, ...rest } = state
  const after = activeStep === undefined ? before : activeStep
  return { ...rest, ...(patch as Partial<OrchestrationState>), ...(after != null && { activeStep: after }) }
}

describe('the simulation answers', () => {
  it('O40: like the sequencer, whatever the configuration and the uses are', () => {
    const fields = { message: fc.constantFrom('x', 'y'), turns: small }
    fc.assert(
      fc.property(configOf([...free, ...asked]), usesOf(fields), (config, uses) => {
        const { uses: reports, end } = simulateOrchestration(config, uses, { offered: tools, predicates })
        const { select, allowed, applyToolUse } = createStepSequencer(config, { predicates })
        let state = stateWith({ lastAccessed: 0 })
        let context: Pick<SimulatedUse, 'message' | 'turns'> = {}
        for (const [at, { tool: name, ...given }] of uses.entries()) {
          context = { ...context, ...given }
          const [{ step, because }, decision] = [select(state, context), allowed(state, tools, context)]
          const { tools: shown, step: decides, reasons } = decision
          const report = reports[at]
          expect(report).toMatchObject({ tool: name, because, tools: shown, allowed: shown.includes(name) })
          expect([report?.step, report?.step]).toEqual([step?.name, decides])
          expect(report?.reasons.flatMap(({ tool: each, allowed: may, reason }) => (may ? [] : [{ tool: each, reason }]))).toEqual(reasons)
          expect(report?.reasons.map((each) => each.tool)).toEqual(tools)
          if (shown.includes(name)) state = patched(state, applyToolUse(state, name, { ...context, at }))
          else if (step?.name !== state.activeStep)
            state = patched(state, { activeStep: step?.name ?? null, sequenceIndex: 0, usesInStep: 0 })
        }
        expect(end).toMatchObject({ because: select(state, context).because, tools: allowed(state, tools, context).tools })
      }),
      randomRuns(500),
    )
  })

  it('O37, O39: like an orchestration that records each allowed use', async () => {
    await fc.assert(
      fc.asyncProperty(configOf(free), usesOf({ usage }), async (config, uses) => {
        const { orchestration } = bench({ config, predicates })
        const { uses: reports, end } = simulateOrchestration(config, uses, { offered: tools, predicates })
        await orchestration.getOrCreateState(id, { steps: [{ name: 'any' }] })
        for (const [at, { tool: name, usage: spent }] of uses.entries()) {
          const decision = await orchestration.allowedTools(id, tools)
          expect([reports[at]?.step, reports[at]?.tools]).toEqual([decision.step, decision.tools])
          if (decision.tools.includes(name)) await orchestration.recordToolUse(id, name, spent && { usage: spent })
          else await orchestration.setActiveStep(id, decision.step ?? null)
        }
        const decision = await orchestration.allowedTools(id, tools)
        expect([end.step, end.tools]).toEqual([decision.step, decision.tools])
        expect((await orchestration.getState(id))?.toolHistory.map((each) => each.tool)).toEqual(
          reports.flatMap((each) => (each.allowed ? [each.tool] : [])),
        )
      }),
      randomRuns(150),
    )
  })

  it('O42, O43, O46: like a turn that makes the uses one after the other', { timeout: 60_000 }, async () => {
    const made = tools.map((name) =>
      defineTool({ name, description: name, inputSchema: z.object({}), effect: 'pure', execute: () => 'done' }),
    )
    await fc.assert(
      fc.asyncProperty(configOf(free.slice(0, -2)), usesOf(), async (config, uses) => {
        const context = { message: 'go', turns: 1 }
        const { uses: reports, end } = simulateOrchestration(
          config,
          uses.map((use) => ({ ...use, ...context })),
          { offered: tools, predicates },
        )
        const { orchestration, clock } = bench({ config, predicates })
        const calls = uses.map(({ tool: name }, index) => ({ toolCalls: [{ id: `call-${index}`, name, input: {} }] }))
        const model = scriptedModel([...calls, { text: 'done' }])
        const agent = defineAgent({ model, tools: made, extensions: [orchestration.extension()] })
        const result = await agent.run('go', { sessionKey: id, clock }).result()
        const outcomes = result.messages.flatMap((message) => (message.role === 'tool-result' ? [message.status === 'result'] : []))
        expect(outcomes).toEqual(reports.map(({ allowed }) => allowed))
        expect(model.calls.map((request) => request.tools?.map(({ name }) => name) ?? [])).toEqual(
          [...reports, end].map((each) => each.tools),
        )
      }),
      randomRuns(40),
    )
  })

  it('O22, O34: that a sequence which is not reported as blocked can be used to its end', () => {
    fc.assert(
      fc.property(configOf(free), (given) => {
        const config = { ...given, steps: given.steps.slice(0, 1).map((step) => ({ ...step, isDefault: true })) }
        const [step] = config.steps
        const blocked = createStepSequencer(config, { predicates })
          .explain()
          .filter(({ kind }) => kind === 'blocked')
        for (const pickOf of [(position: readonly string[]) => position[0], (position: readonly string[]) => position.at(-1)]) {
          const uses = step?.sequence?.map((position) => pickOf([position].flat()) ?? '') ?? []
          const refused = simulateOrchestration(config, uses, { predicates }).uses.some(({ allowed }) => !allowed)
          if (refused) expect(blocked).toHaveLength(1)
        }
        if (blocked.length > 0)
          expect(
            step?.sequence
              ?.flat()
              .some(
                (name) =>
                  simulateOrchestration({ steps: [{ name: 's', isDefault: true, tools: step.tools ?? {} }] }, [name]).uses[0]?.allowed ===
                  false,
              ),
          ).toBe(true)
      }),
      randomRuns(200),
    )
  })
})
