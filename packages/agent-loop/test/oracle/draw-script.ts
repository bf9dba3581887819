import fc from 'fast-check'
import type { AnswerPlan, CallPlan } from '../fuzz/answers.ts'
import { toolNames } from '../fuzz/tools.ts'
import { scriptOf } from './script-of.ts'
import type { Extras, Script } from './script.ts'
import { death, themes } from './themes.ts'

const call: fc.Arbitrary<CallPlan> = fc.record({
  tool: fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...toolNames) }, { weight: 5, arbitrary: fc.constantFrom('asked', 'asked', 'asked-timed', 'wary') }, { weight: 3, arbitrary: fc.constant('delegate_to_helper' as const) }),
  act: fc.constantFrom('return', 'return', 'later', 'json', 'content', 'details'),
  ms: fc.constantFrom(0, 10, 60),
  id: fc.constant(undefined),
  input: fc.constant('right'),
})

function answers(maxCalls: number, { minLength = 0, maxLength }: { readonly minLength?: number; readonly maxLength: number }): fc.Arbitrary<readonly AnswerPlan[]> {
  const answer: fc.Arbitrary<AnswerPlan> = fc.record({
    reasoning: fc.boolean(),
    text: fc.constantFrom('', 'a', 'some more text'),
    calls: fc.array(call, { maxLength: maxCalls }),
    end: fc.constant('stop'),
    delayMs: fc.constantFrom(0, 0, 20),
    chunk: fc.constantFrom(10, 40),
    tokens: fc.constantFrom(10, 10, 300),
  })
  return fc.array(answer, { minLength, maxLength })
}

/** What every script has. */
export const base = fc.record({
  answers: answers(2, { minLength: 1, maxLength: 2 }),
  /** The first answer calls a tool. */
  calls: fc.constantFrom(true, true, true, false),
  child: answers(1, { maxLength: 1 }),
  fallback: answers(1, { maxLength: 1 }),
  onUnknownOutcome: fc.constantFrom('stop', 'tell-model'),
  steering: fc.constantFrom('all', 'one-at-a-time'),
  abortGraceMs: fc.constantFrom(0, 200),
  toolConcurrency: fc.constantFrom(1, 2, 8, 8),
  rounds: fc.constantFrom(1, 1, 1, 1, 1, 2),
  approve: fc.constantFrom(true, true, false),
  edits: fc.constantFrom(true, true, false),
  startsAborted: fc.constantFrom(...Array.from({ length: 40 }, (_, place) => place === 0)),
})

const rarely = fc.constantFrom(false, false, false, false, false, false, false, true)

const extras: fc.Arbitrary<Extras> = fc.record({
  ...{ timed: fc.boolean(), byClock: fc.boolean(), jitter: fc.boolean(), silentDeath: fc.boolean(), loopGuard: fc.constantFrom('default', 'low', 'off') },
  ...{ bareHelper: rarely, price: rarely, remote: rarely, overlays: rarely, options: rarely },
  ...{ maxCost: fc.constant(undefined), maxQueuedInputs: fc.constant(undefined), pinned: fc.constant('none'), lateInput: fc.constant(false) },
})

/** Scripts of what a loop can be made to do, each about a few themes. */
export const scripts: fc.Arbitrary<Script> = fc.record({ base, themes, extras }).map(scriptOf)

/** Scripts of a run whose process dies. */
export const mortalScripts: fc.Arbitrary<Script> = fc
  .record({ base: base.map((given) => ({ ...given, startsAborted: false })), extras, themes: fc.tuple(themes, death).map(([others, given]) => ({ ...others, limits: undefined, inputs: undefined, death: given })) })
  .map(scriptOf)
