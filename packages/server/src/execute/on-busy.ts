import type { OnBusy } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'

/** What a client may ask for while a run is open is the choice of whoever offers the agent. */
export function checkOnBusy({ agents }: Services, agent: string, onBusy: OnBusy): void {
  const allowed = agents[agent]?.onBusy
  if (allowed && !allowed.includes(onBusy)) {
    throw new ProblemError('option-not-allowed', `The agent does not allow onBusy "${onBusy}".`)
  }
}
