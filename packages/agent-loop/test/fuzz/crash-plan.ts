import fc from 'fast-check'

/** Tools for which it is known how a crash may change their calls. */
export const crashTools = [
  'pure',
  'safe',
  'once',
  'sure',
  'alone',
  'far',
  'asked',
  'bad',
  'quit',
  'kept',
  'made-up',
  'delegate_to_helper',
] as const
export type CrashTool = (typeof crashTools)[number]

export interface CrashStep {
  readonly text: boolean
  readonly calls: readonly CrashTool[]
  /** Number of failures of the model before it answers. */
  readonly fails: number
  readonly tokens: number
  readonly input: 'steer' | 'overlay' | undefined
}

export interface CrashPlan {
  /** The answers of each turn; the last one calls nothing. */
  readonly turns: readonly (readonly CrashStep[])[]
  readonly child: readonly (readonly CrashTool[])[]
  /** Approvals are decided in place. */
  readonly inPlace: boolean
  /** Number of pending calls that are answered at once. */
  readonly answers: number
  /** Later turns are given as follow-ups. */
  readonly followsUp: boolean
  /** Hooks that come between the same commits, however a crash has changed the retries. */
  readonly hooks: readonly ('onStepStart' | 'onStepEnd' | 'afterModelCall' | 'onToolResult' | 'onAgentEnd' | 'transformContext')[]
  readonly guards: boolean
  readonly asks: readonly ('prepareStep' | 'stopWhen' | 'ephemeral' | 'instructions')[]
  readonly compacts: boolean
  /** Tokens that may be used before more must be granted. */
  readonly maxTotalTokens: number | undefined
  readonly fallback: boolean
  readonly onUnknownOutcome: 'stop' | 'tell-model'
  readonly latencyMs: number
}

const step = (calls: fc.Arbitrary<CrashStep['calls']>): fc.Arbitrary<CrashStep> =>
  fc.record({
    text: fc.boolean(),
    calls,
    fails: fc.constantFrom(0, 0, 0, 1, 2),
    tokens: fc.constantFrom(10, 10, 1_400),
    input: fc.constantFrom(undefined, undefined, 'steer', 'overlay'),
  })

const asking = step(fc.array(fc.constantFrom(...crashTools), { minLength: 1, maxLength: 3 }))
const last = step(fc.constant([]))
const turn = fc.tuple(fc.array(asking, { maxLength: 2 }), last).map(([steps, end]) => [...steps, end])

export const crashPlan: fc.Arbitrary<CrashPlan> = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 2 }),
  child: fc.array(fc.array(fc.constantFrom('pure', 'once', 'far', 'asked', 'sure'), { minLength: 1, maxLength: 2 }), { maxLength: 1 }),
  inPlace: fc.boolean(),
  answers: fc.integer({ min: 1, max: 2 }),
  followsUp: fc.boolean(),
  hooks: fc.uniqueArray(fc.constantFrom('onStepStart', 'onStepEnd', 'afterModelCall', 'onToolResult', 'onAgentEnd', 'transformContext'), {
    maxLength: 2,
  }),
  guards: fc.boolean(),
  asks: fc.uniqueArray(fc.constantFrom('prepareStep', 'stopWhen', 'ephemeral', 'instructions'), { maxLength: 2 }),
  compacts: fc.boolean(),
  maxTotalTokens: fc.constantFrom(undefined, undefined, 0, 900, 3_000),
  fallback: fc.boolean(),
  onUnknownOutcome: fc.constantFrom('stop', 'tell-model'),
  latencyMs: fc.constantFrom(0, 0, 5),
})
