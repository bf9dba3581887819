import type { Timeline } from './fold.ts'

const pixelsPerMs = 0.045
/** Close moments stay apart, long waits are cut short: the order is exact, the distance a hint. */
const shortestPixels = 5
const longestPixels = 84

export interface Scale {
  readonly height: number
  at(time: number): number
}

/** Time downwards. The marks are the commits and the present end of what still goes on. */
export function createScale(timeline: Timeline): Scale {
  const times = [...new Set([...timeline.commits.map((commit) => commit.at), timeline.lastAt])].sort((a, b) => a - b)
  const places = new Map<number, number>()
  let place = 0
  let previous = times[0] ?? 0
  for (const time of times) {
    if (places.size > 0) place += Math.min(longestPixels, Math.max(shortestPixels, (time - previous) * pixelsPerMs))
    places.set(time, place)
    previous = time
  }
  return { height: place, at: (time) => places.get(time) ?? place }
}
