import type { OnBusy } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'

/** Refuses a value of `onBusy` that the agent does not allow to clients. */
export function checkOnBusy({ agents }: Services, agent: string, onBusy: OnBusy): void {
  const allowed = agents[agent]?.onBusy
  if (allowed && !allowed.includes(onBusy)) {
    throw new ProblemError('option-not-allowed', `The agent does not allow onBusy "${onBusy}".`)
  }
}
