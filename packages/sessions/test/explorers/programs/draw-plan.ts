import type { Draw } from './draw.ts'
import type { Feature, Plan, PlannedAnswer, PlannedCall, PlannedTool } from './program.ts'

type Has = (feature: Feature) => boolean

/** Number of levels of subagents below the root. */
const levels = 2

/** Draws the answers of the root model to an input, and those of its subagents. */
export function drawPlan(draw: Draw, has: Has, below = levels): Plan {
  return draw.times(draw.oneOf([0, 1, 1, 2]), () => drawAnswer(draw, has, below))
}

function drawAnswer(draw: Draw, has: Has, below: number): PlannedAnswer {
  if (has('provider-failures') && draw.chance(0.15)) return { fails: draw.oneOf(['once', 'once', 'always'] as const) }
  return { calls: draw.times(1 + draw.whole(2), () => drawCall(draw, has, below)) }
}

function drawCall(draw: Draw, has: Has, below: number): PlannedCall {
  if (below > 0 && has('subagents') && draw.chance(0.5)) {
    const background = has('background') && draw.chance(0.5)
    const delegate = drawPlan(draw, has, below - 1)
    return { delegate, ...(background && { background: true as const }) }
  }
  const tool = draw.oneOf(toolsOf(has))
  return {
    tool,
    ...(has('slow-models') && draw.chance(0.3) && { ms: draw.oneOf([50, 500, 8_000]) }),
    ...(has('failing-tools') && draw.chance(0.2) && { throws: true as const }),
  }
}

function toolsOf(has: Has): readonly PlannedTool[] {
  return [
    'look',
    ...(has('tools') ? (['pay', 'pay', 'bill', 'index'] as const) : []),
    ...(has('approvals') ? (['ask', 'askSoon'] as const) : []),
    ...(has('remote-tools') ? (['place', 'placeSoon'] as const) : []),
    ...(has('subagents') && has('background') ? (['output', 'cancel'] as const) : []),
  ]
}
