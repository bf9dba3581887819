import type { Draw } from './draw.ts'
import type { Feature, Plan, PlannedAnswer, PlannedCall, PlannedTool } from './program.ts'

type Has = (feature: Feature) => boolean

/** Below the root there are two more levels of subagents. */
const levels = 2

interface Below {
  readonly levels: number
  /** Of a task that does not wait. */
  readonly isInBackground: boolean
}

/** What the model of the root answers to an input, with what it hands to its subagents. */
export function drawPlan(draw: Draw, has: Has, below: Below = { levels, isInBackground: false }): Plan {
  return draw.times(draw.whole(3), () => drawAnswer(draw, has, below))
}

function drawAnswer(draw: Draw, has: Has, below: Below): PlannedAnswer {
  if (has('provider-failures') && draw.chance(0.15)) return { fails: draw.oneOf(['once', 'once', 'always'] as const) }
  return { calls: draw.times(1 + draw.whole(2), () => drawCall(draw, has, below)) }
}

function drawCall(draw: Draw, has: Has, below: Below): PlannedCall {
  if (below.levels > 0 && has('subagents') && draw.chance(0.5)) {
    // The view of a log loses what a task asks that another task has launched: programs with both would wait for ever.
    const background = has('background') && !below.isInBackground && draw.chance(0.5)
    const delegate = drawPlan(draw, has, { levels: below.levels - 1, isInBackground: below.isInBackground || background })
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
    ...(has('tools') ? (['pay', 'bill', 'index'] as const) : []),
    ...(has('approvals') ? (['ask', 'askSoon'] as const) : []),
    ...(has('remote-tools') ? (['place', 'placeSoon'] as const) : []),
    ...(has('subagents') && has('background') ? (['output', 'cancel'] as const) : []),
  ]
}
