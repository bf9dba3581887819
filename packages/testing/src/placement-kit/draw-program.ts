import { seededRandom } from '../crash-kit/seeded-random.ts'
import type { CrashMode } from '../crash-kit/types.ts'
import { planWords, type PlanWord } from './cast.ts'

/** One action on the workers, or of a client. */
export type PlacementStep =
  | (ClientStep & { readonly do: 'send' | 'steer' | 'schedule'; readonly id: string; readonly plan: string; readonly inMs: number })
  | (ClientStep & { readonly do: 'stop' | 'answer' })
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'add-worker' | 'stop-worker' | 'restart' }

/** An action of a client in one session. It begins after so many calls of the workers to their store. */
interface ClientStep {
  readonly room: number
  readonly afterCalls: number
}

export interface PlacementProgram {
  readonly seed: number
  readonly workers: number
  readonly steps: readonly PlacementStep[]
  /** Disturbances of workers, each at one of their points, one worker after the other. */
  readonly mode: CrashMode | 'none'
  readonly targets: readonly number[]
}

const rooms = 3
const actions = [
  ...(['send', 'send', 'send', 'send', 'send', 'steer', 'schedule', 'stop', 'answer', 'answer'] as const),
  ...(['wait', 'wait', 'wait', 'wait', 'add-worker', 'stop-worker', 'restart'] as const),
]

export function drawProgram(seed: number): PlacementProgram {
  const random = seededRandom(seed)
  const whole = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1))
  const oneOf = <T>(list: readonly T[]): T => list[whole(0, list.length - 1)] as T
  const many = <T>(from: number, to: number, make: (place: number) => T): T[] =>
    Array.from({ length: whole(from, to) }, (_, place) => make(place))
  const plan = (): string => many(0, 3, () => many(1, 2, () => oneOf<PlanWord>(planWords)).join('+')).join(' ')
  const step = (place: number): PlacementStep => {
    const action = place === 0 ? 'send' : oneOf(actions)
    if (action === 'wait') return { do: action, ms: whole(0, 4_000) }
    if (action === 'add-worker' || action === 'stop-worker' || action === 'restart') return { do: action }
    const client = { room: whole(1, rooms), afterCalls: Math.max(0, whole(-10, 20)) }
    if (action === 'stop' || action === 'answer') return { ...client, do: action }
    const inMs = action === 'schedule' || whole(1, 4) === 1 ? whole(500, 6_000) : 0
    return { ...client, do: action, id: `input-${place}`, plan: plan(), inMs }
  }
  const mode = oneOf(['none', 'kill', 'kill', 'zombie'] as const)
  return {
    seed,
    workers: whole(1, 3),
    steps: many(4, 14, step),
    mode,
    targets: mode === 'none' ? [] : many(1, 3, () => whole(1, 60)),
  }
}
