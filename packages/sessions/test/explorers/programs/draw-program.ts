import { drawFrom, type Draw } from './draw.ts'
import { drawPlan } from './draw-plan.ts'
import { drawStep } from './draw-step.ts'
import { programFeatures, type Feature, type HookPlan, type PlannedHook, type Program, type ProgramCrash, type Setup } from './program.ts'

const mostSteps = 12
const mostCrashes = 3

/** Draws one program. Equal seeds and features give equal programs. */
export function drawProgram(seed: number, features: readonly Feature[] = programFeatures): Program {
  const draw = drawFrom(seed)
  const wanted = new Set(features)
  // Each program leaves out some features, because a feature that is always present hides faults that show only without it.
  const has = (feature: Feature): boolean => used.has(feature)
  const used = new Set(programFeatures.filter((feature) => draw.chance(0.6) && wanted.has(feature)))
  // Derived from the seed without a draw, so that programs without these settings stay the same.
  const setup: Setup = {
    ...drawSetup(draw, has),
    ...(seed % 5 === 3 && { records: true as const }),
    ...(seed % 7 === 2 && { webhook: true as const }),
    ...(has('approvals') && seed % 4 === 0 && { asksForMore: true, maxTokens: 40 + (seed % 300) }),
  }
  const count = 1 + draw.whole(mostSteps)
  const first = { do: 'send', to: 'a', name: 'first', plan: drawPlan(draw, has) } as const
  // Only a reader that starts early sees the late events of a waiting run.
  const reader =
    has('readers') && draw.chance(0.5) ? [{ do: 'read', to: 'a', from: 0, lag: draw.oneOf([3, 10, 40]), run: true } as const] : []
  const steps = [first, ...reader, ...draw.times(count, (index) => drawStep(draw, has, `in${index}`))]
  // After a pause, so that the fork has a time of its own in the list. Derived from the seed, as above.
  const amidList =
    has('tree') && seed % 2 === 0 ? [{ do: 'pass', ms: 1_500 } as const, { do: 'fork', to: 'a', amidList: true } as const] : []
  return { seed, setup, steps: [...steps, ...amidList], crashes: has('crashes') ? drawCrashes(draw, has, steps.length) : [] }
}

const ways = ['kill', 'kill', 'kill-after', 'kill-after', 'lost', 'lost-after', 'freeze', 'unrenewed', 'never-renewed'] as const

/** Most programs have some hundred operations and few effects. A crash after the last operation never happens. */
function drawCrashes(draw: Draw, has: (feature: Feature) => boolean, steps: number): readonly ProgramCrash[] {
  const crashes = draw.times(1 + draw.whole(mostCrashes), (): ProgramCrash => {
    if (has('tools') && draw.chance(0.5)) return { at: draw.oneOf([1, 1, 2, 3]), how: draw.oneOf(['kill-in-tool', 'freeze-in-tool']) }
    const how = draw.oneOf(ways)
    const at = 4 + draw.whole(draw.oneOf([40, 120, 30 + steps * 30]))
    // Turns every second `lost` into an outage, shorter or longer than a lease.
    if (how === 'lost' && at % 2 === 0) return { how: 'outage', at, ms: at % 4 === 0 ? 3_000 : 20_000 }
    return { how, at, ...(how === 'freeze' && draw.chance(0.3) && { ms: 5_000 }) }
  })
  return crashes.toSorted((a, b) => a.at - b.at)
}

function drawSetup(draw: Draw, has: (feature: Feature) => boolean): Setup {
  return {
    ...(has('slow-models') && { modelMs: draw.oneOf([10, 100, 1000, 4000]) }),
    ...(draw.chance(0.4) && { concurrency: 1 + draw.whole(3) }),
    ...(draw.chance(0.2) && { durability: 'turn' as const }),
    ...(draw.chance(0.3) && { onUnknownOutcome: 'tell-model' as const }),
    ...(draw.chance(0.2) && { onFailedTurn: 'rewind' as const }),
    ...(has('definition-changes') && draw.chance(0.5) && { onDefinitionChange: draw.oneOf(['pin', 'refuse'] as const) }),
    ...(has('expiry') && draw.chance(0.5) && { idleMs: draw.oneOf([2_000, 10_000, 30_000]) }),
    ...(has('background') && draw.chance(0.2) && { maxActive: 1 }),
    ...(has('limits') &&
      draw.oneOf([{ maxSteps: 1 + draw.whole(3) }, { maxTokens: 200 + draw.whole(5_000) }, { maxMs: draw.oneOf([500, 5_000]) }, {}])),
    ...(has('costs') && { maxCost: draw.oneOf(['0.001', '0.005', '1']) }),
    ...(has('compaction') && draw.chance(0.5) && { compaction: draw.oneOf(['in-turn', 'after-turn'] as const) }),
    ...(has('orchestration') && draw.chance(0.4) && { orchestration: true as const }),
    ...(has('guardrails') && draw.chance(0.5) && { guardrail: draw.oneOf(['block', 'halt', 'throw', 'wait'] as const) }),
    ...(has('hooks') && { hooks: draw.times(1 + draw.whole(2), () => drawHook(draw)) }),
  }
}

const hooks: readonly PlannedHook[] = ['beforeAgentStart', 'onTurnStart', 'onStepEnd', 'onToolCall', 'onAgentEnd', 'onSavePoint']

function drawHook(draw: Draw): HookPlan {
  return {
    hook: draw.oneOf(hooks),
    does: draw.chance(0.4) ? 'throw' : draw.oneOf([100, 3_000, 20_000]),
    ...(draw.chance(0.5) && { onError: 'fail' as const }),
    ...(draw.chance(0.6) && { times: 1 + draw.whole(3) }),
  }
}
