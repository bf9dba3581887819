import type { Timeline } from './fold.ts'

const pixelsPerMs = 0.06
/** Bounds of the distance between two moments: close ones stay apart, long waits are shortened. The order is exact. */
const shortestPixels = 6
const longestPixels = 140

export interface Scale {
  readonly width: number
  /** Returns pixels from the left end, where the first event is. */
  at(time: number): number
  /** Moments in order, with the waits that are drawn shortened. */
  readonly moments: readonly ScaleMoment[]
}

interface ScaleMoment {
  readonly time: number
  readonly x: number
  /** Wait before the moment, in ms, if it was shortened. */
  readonly cutMs?: number
}

/** Creates the scale from left to right in time. Moments are the commits and the current end of running work. */
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
  /** Time since the first event. */
  readonly sinceMs: number
}

const labelPixels = 96

/** Returns the labels that have room: the first moment, and each later one that is far enough from the previous label. */
export function axisLabels({ moments }: Scale): readonly AxisLabel[] {
  const labels: AxisLabel[] = []
  const first = moments[0]?.time ?? 0
  for (const { time, x } of moments) {
    if (x - (labels.at(-1)?.x ?? -Infinity) >= labelPixels) labels.push({ x, sinceMs: time - first })
  }
  return labels
}
