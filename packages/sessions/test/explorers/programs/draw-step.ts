import type { Draw } from './draw.ts'
import { drawPlan } from './draw-plan.ts'
import type { AnswerKind, Feature, PlannedInput, ProgramSession, ProgramStep } from './program.ts'

type Has = (feature: Feature) => boolean
type Make = (draw: Draw, has: Has, name: string) => ProgramStep

/** Features that a kind of step needs, and its relative frequency. */
interface StepKind {
  readonly needs: readonly Feature[]
  readonly weight: number
  readonly make: Make
}

const to = (draw: Draw): ProgramSession => (draw.chance(0.75) ? 'a' : 'b')

function input(draw: Draw, has: Has, name: string): PlannedInput {
  return { to: to(draw), name: has('duplicates') && draw.chance(0.15) ? 'first' : name, plan: drawPlan(draw, has) }
}

const kinds: readonly StepKind[] = [
  { needs: [], weight: 4, make: (draw, has, name) => ({ do: 'send', ...input(draw, has, name) }) },
  { needs: ['interrupts'], weight: 2, make: (draw, has, name) => ({ do: 'send', onBusy: 'interrupt', ...input(draw, has, name) }) },
  {
    needs: ['steering'],
    weight: 1,
    make: (draw, has, name) => ({ do: 'send', onBusy: draw.oneOf(['steer', 'reject'] as const), ...input(draw, has, name) }),
  },
  { needs: ['steering'], weight: 3, make: (draw, has, name) => ({ do: 'steer', ...input(draw, has, name) }) },
  { needs: ['follow-ups'], weight: 3, make: (draw, has, name) => ({ do: 'follow-up', ...input(draw, has, name) }) },
  { needs: ['overlays'], weight: 2, make: (draw, _has, name) => ({ do: 'overlay', to: to(draw), name, turns: 1 + draw.whole(2) }) },
  {
    needs: ['synchronized'],
    weight: 1,
    make: (draw, has, name) => ({
      do: 'send',
      mode: 'synchronized',
      ...(has('overlays') && { overlay: true as const }),
      ...input(draw, has, name),
    }),
  },
  {
    needs: ['not-before'],
    weight: 1,
    make: (draw, has, name) => ({ do: 'send', notBeforeMs: draw.oneOf([500, 5_000, 20_000]), ...input(draw, has, name) }),
  },
  {
    needs: ['schedules'],
    weight: 2,
    make: (draw, has, name) => ({
      do: 'schedule',
      inMs: draw.oneOf([1, 700, 8_000, 70_000]),
      to: to(draw),
      name,
      plan: drawPlan(draw, has),
    }),
  },
  {
    needs: [],
    weight: 4,
    make: (draw) => ({
      do: 'answer',
      to: to(draw),
      how: draw.oneOf<AnswerKind>(['yes', 'yes', 'no', 'again', 'one', 'edited', 'run-again']),
    }),
  },
  { needs: ['compaction'], weight: 1, make: (draw) => ({ do: 'compact', to: to(draw) }) },
  { needs: ['tree'], weight: 1, make: (draw) => ({ do: draw.oneOf(['fork', 'label'] as const), to: to(draw) }) },
  {
    needs: ['tree'],
    weight: 1,
    make: (draw) => ({ do: 'switch', to: to(draw), back: draw.whole(5), ...(draw.chance(0.3) && { summarize: true as const }) }),
  },
  {
    needs: ['copies'],
    weight: 2,
    make: (draw) => ({
      do: 'copy',
      to: to(draw),
      as: draw.oneOf(['b', 'c'] as const),
      ...(draw.chance(0.5) && { allBranches: true as const }),
    }),
  },
  { needs: ['resumes'], weight: 2, make: (draw) => ({ do: 'resume', to: to(draw) }) },
  {
    needs: ['stops'],
    weight: 2,
    make: (draw) => ({
      do: 'stop',
      to: to(draw),
      ...(draw.chance(0.3) && { scope: 'all' as const }),
      ...(draw.chance(0.5) && { waitMs: 0 }),
    }),
  },
  { needs: ['kills'], weight: 1, make: (draw) => ({ do: 'kill', to: to(draw) }) },
  { needs: ['deletion'], weight: 1, make: (draw) => ({ do: 'delete', to: to(draw) }) },
  {
    needs: [],
    weight: 3,
    make: (draw) => ({ do: 'pass', ms: draw.oneOf([1, 100, 1_500, 6_000, 11_000, draw.chance(0.3) ? 40_000 : 10]) }),
  },
  { needs: ['clock-jumps'], weight: 1, make: (draw) => ({ do: 'set-clock', byMs: draw.oneOf([-90_000, -5_000, 5_000, 90_000]) }) },
  { needs: ['sweeps'], weight: 2, make: () => ({ do: 'sweep' }) },
  { needs: ['sweeps'], weight: 1, make: (draw) => ({ do: 'drain', ms: draw.oneOf([0, 100, 10_000]) }) },
  {
    needs: ['readers'],
    weight: 3,
    make: (draw) => ({
      do: 'read',
      to: to(draw),
      from: draw.whole(12),
      lag: draw.oneOf([0, 1, 3, 10, 40]),
      ...(draw.chance(0.5) && { run: true as const }),
    }),
  },
  {
    needs: ['restarts'],
    weight: 1,
    make: (draw, has) => ({
      do: 'restart',
      graceMs: draw.oneOf([0, 1_000]),
      ...(has('definition-changes') && { definition: draw.whole(3) }),
    }),
  },
]

export function drawStep(draw: Draw, has: Has, name: string): ProgramStep {
  const possible = kinds.filter(({ needs }) => needs.every(has))
  let place = draw.whole(possible.reduce((sum, { weight }) => sum + weight, 0))
  const kind = possible.find(({ weight }) => (place -= weight) < 0)
  if (!kind) throw new TypeError('There is no kind of step.')
  const step = kind.make(draw, has, name)
  return draw.chance(0.55) ? { ...step, turns: draw.whole(draw.oneOf([4, 12, 30])) } : step
}
