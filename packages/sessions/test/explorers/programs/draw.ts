import { seededRandom } from '../../../../testing/src/crash-kit/seeded-random.ts'

/** Random choices from one seed. */
export interface Draw {
  /** Returns a whole number from 0 up to, but not including, `below`. */
  readonly whole: (below: number) => number
  readonly chance: (share: number) => boolean
  readonly oneOf: <T>(choices: readonly T[]) => T
  readonly times: <T>(count: number, make: (index: number) => T) => T[]
}

export function drawFrom(seed: number): Draw {
  const random = seededRandom(seed)
  const whole = (below: number): number => Math.floor(random() * below)
  return {
    whole,
    chance: (share) => random() < share,
    oneOf: <T>(choices: readonly T[]) => choices[whole(choices.length)] as T,
    times: (count, make) => Array.from({ length: count }, (_, index) => make(index)),
  }
}
