import type { Timeline } from './fold.ts'

const pixelsPerMs = 0.06
/** Close moments stay apart, long waits are cut short: the order is exact, the distance a hint. */
const shortestPixels = 6
const longestPixels = 140

export interface Scale {
  readonly width: number
  /** Pixels from the left of the first event. */
  at(time: number): number
  /** Moments in their order, with those waits that are drawn shorter than they were. */
  readonly moments: readonly ScaleMoment[]
}

interface ScaleMoment {
  readonly time: number
  readonly x: number
  /** The wait before it, if it was cut short. */
  readonly cutMs?: number
}

/** Time to the right. The moments are the commits and the present end of what still goes on. */
export function createScale(timeline: Timeline, zoom = 1): Scale {
  const times = [...new Set([...timeline.commits.map((commit) => commit.at), timeline.lastAt])].sort((a, b) => a - b)
  const moments: ScaleMoment[] = []
  const places = new Map<number, number>()
  let x = 0
  let previous: number | undefined
  for (const time of times) {
    const wait = previous === undefined ? 0 : time - previous
    const pixels = wait * pixelsPerMs
    if (previous !== undefined) x += Math.min(longestPixels, Math.max(shortestPixels, pixels)) * zoom
    moments.push({ time, x, ...(pixels > longestPixels && { cutMs: wait }) })
    places.set(time, x)
    previous = time
  }
  return { width: x, at: (time) => places.get(time) ?? x, moments }
}

export interface AxisLabel {
  readonly x: number
  /** Since the first event. */
  readonly sinceMs: number
}

const labelPixels = 96

/** Labels that have room: the first moment, and each next one that is far enough from the label before it. */
export function axisLabels({ moments }: Scale): readonly AxisLabel[] {
  const labels: AxisLabel[] = []
  const first = moments[0]?.time ?? 0
  for (const { time, x } of moments) {
    if (x - (labels.at(-1)?.x ?? -Infinity) >= labelPixels) labels.push({ x, sinceMs: time - first })
  }
  return labels
}
