import fc from 'fast-check'
import type { Extension, ExtensionContext, Guardrail, GuardrailContext, Hooks } from '../../src/index.ts'
import type { World } from './world.ts'

export const hookNames = [
  ...[
    'onInput',
    'beforeAgentStart',
    'onTurnStart',
    'transformContext',
    'onStepStart',
    'onStepEnd',
    'beforeModelCall',
    'onModelRequest',
    'afterModelCall',
  ],
  ...[
    'onToolCall',
    'onToolResult',
    'onToolSettled',
    'beforeCompaction',
    'afterCompaction',
    'onRetryStart',
    'onRetryEnd',
    'onAgentEnd',
    'onSavePoint',
  ],
  ...['onSettled', 'onEvent'],
] as const satisfies readonly (keyof Hooks)[]
export type HookName = (typeof hookNames)[number]

const hookActs = [
  ...['look', 'look', 'slow', 'throw', 'reject', 'hang', 'wrong', 'steer', 'overlay', 'follow-up', 'compact', 'note', 'abort', 'wait'],
  ...['say-1', 'say-2', 'say-3', 'say-4', 'say-5'],
] as const
type HookAct = (typeof hookActs)[number]

export interface HookPlan {
  readonly hook: HookName
  readonly act: HookAct
  /** Acts at every n-th call, and only observes otherwise. */
  readonly every: number
}

export interface ExtensionPlan {
  readonly onError: 'ignore' | 'fail' | undefined
  readonly deltas: boolean
  readonly hooks: readonly HookPlan[]
}

const guardActs = ['allow', 'warn', 'block', 'halt', 'throw', 'hang', 'wrong', 'slow'] as const
type GuardAct = (typeof guardActs)[number] | undefined

export interface GuardrailPlan {
  readonly beforeCall: GuardAct
  readonly afterCall: GuardAct
  readonly onTurn: 'throw' | 'hang' | undefined
  readonly onError: 'block' | 'allow'
}

const guardAct = fc.option(fc.constantFrom(...guardActs), { nil: undefined })

export const extensionPlan: fc.Arbitrary<ExtensionPlan> = fc.record({
  onError: fc.constantFrom(undefined, 'ignore', 'fail'),
  deltas: fc.boolean(),
  hooks: fc.uniqueArray(
    fc.record({ hook: fc.constantFrom(...hookNames), act: fc.constantFrom(...hookActs), every: fc.integer({ min: 1, max: 3 }) }),
    { selector: ({ hook }) => hook, minLength: 1, maxLength: 4 },
  ),
})

export const guardrailPlan: fc.Arbitrary<GuardrailPlan> = fc.record({
  beforeCall: guardAct,
  afterCall: guardAct,
  onTurn: fc.constantFrom(undefined, undefined, 'throw', 'hang'),
  onError: fc.constantFrom('block', 'allow'),
})

export function plannedExtension(world: World, { onError, deltas, hooks }: ExtensionPlan, name: string): Extension {
  const planned = hooks.map((plan) => {
    let count = 0
    if (plan.hook === 'onInput' && plan.act.startsWith('say')) world.inputsChange = true
    const hook = (_event: unknown, context: ExtensionContext): unknown => {
      world.signals.add(context.abortSignal)
      world.beat()
      if (++count % plan.every !== 0) return undefined
      return plan.act.startsWith('say') ? say(plan.hook, Number(plan.act.slice(4))) : acts[plan.act as keyof typeof acts](world, context)
    }
    return [plan.hook, hook]
  })
  return world.loop.defineExtension({ name, deltas, ...(onError && { onError }), hooks: Object.fromEntries(planned) as Hooks })
}

const acts: Readonly<Record<Exclude<HookAct, `say-${string}`>, (world: World, context: ExtensionContext) => unknown>> = {
  look: () => undefined,
  slow: (world) => world.sleep(30),
  throw() {
    throw new Error('the hook broke')
  },
  reject: async () => Promise.reject(new Error('the hook broke later')),
  hang: () => new Promise(() => {}),
  wrong: () => ({ action: 'dance', steps: [1n] }),
  steer: (world, { steer }) => world.give('steer', steer),
  overlay: (world, { overlay }) => world.give('overlay', overlay),
  'follow-up': (world, { followUp }) => world.give('follow-up', followUp),
  compact: (_world, { compactAfterTurn }) => compactAfterTurn(),
  note(_world, { logStep, state }) {
    state['seen'] = Number(state['seen'] ?? 0) + 1
    logStep({ name: 'noted', because: 'it may', sequenceIndex: 0 })
  },
  abort: (world, { abort }) => world.stop('stop', () => abort('a hook had enough')),
  wait: (_world, { waitForIdle }) => waitForIdle(),
}

/** Returns the hook's result of this number; undefined if there is none. */
function say(hook: HookName, number: number): unknown {
  return sayings[hook]?.[number - 1]
}

const sayings: Readonly<Partial<Record<HookName, readonly unknown[]>>> = {
  onInput: [
    { action: 'transform', input: 'transformed' },
    { action: 'handled', reply: 'handled' },
    { action: 'continue' },
    { action: 'transform', input: [] },
  ],
  beforeAgentStart: [{ instructions: 'other instructions' }, { append: ['appended', 'twice'] }, { append: [{ type: 'nothing' }] }],
  transformContext: [{ messages: [{ role: 'user', content: 'only this' }] }, { messages: [] }, { messages: 'none' }],
  beforeModelCall: [
    { activeTools: ['pure', 'far'] },
    { activeTools: [] },
    { runtimeParams: { maxTokens: 100 } },
    { toolChoice: 'none' },
    { shownTools: ['pure'] },
  ],
  onToolCall: [
    ...[
      { action: 'modify', input: { act: 'json', ms: 0 } },
      { action: 'modify', input: 'wrong' },
      { action: 'reject-and-continue', message: 'no' },
    ],
    ...[
      { action: 'synthesize', output: { made: 'up' }, details: 1 },
      { action: 'error', message: 'never' },
    ],
  ],
  onToolResult: [
    { output: 'patched' },
    { isError: true },
    { terminate: true },
    { status: 'error', output: { bad: true } },
    { status: 'result', details: { d: 1 } },
  ],
  beforeCompaction: [
    { cancel: true, reason: 'not now' },
    { instructions: 'look closely' },
    { compaction: { summary: 'mine', firstKeptMessageId: 'nowhere' } },
  ],
}

export function plannedGuardrail(world: World, { beforeCall, afterCall, onTurn, onError }: GuardrailPlan): Guardrail {
  const decide = (action: GuardAct, context: GuardrailContext): never => {
    world.signals.add(context.abortSignal)
    world.beat()
    if (action === 'throw') throw new Error('the guardrail broke')
    if (action === 'hang') return new Promise(() => {}) as never
    if (action === 'slow') return world.sleep(30) as never
    return (action && { action: action === 'wrong' ? 'dance' : action, reason: 'the guardrail says so' }) as never
  }
  return world.loop.defineGuardrail({
    name: 'planned',
    onError,
    ...(beforeCall && { beforeCall: (_call, context) => decide(beforeCall, context) }),
    ...(afterCall && { afterCall: (_call, _result, context) => decide(afterCall, context) }),
    ...(onTurn && { onTurnStart: (context) => decide(onTurn, context), onTurnEnd: (context) => decide(onTurn, context) }),
  })
}
