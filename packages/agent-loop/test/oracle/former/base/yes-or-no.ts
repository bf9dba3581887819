import { dropLateFailure, isThenable } from './time-limit.ts'

/** Returns what a function of the user answered. Throws for anything but true, false and undefined. */
export function yesOrNo(name: string, answer: unknown): boolean | undefined {
  if (answer === undefined || typeof answer === 'boolean') return answer
  if (isThenable(answer)) dropLateFailure(answer)
  throw new TypeError(`${name} must return true or false`)
}
