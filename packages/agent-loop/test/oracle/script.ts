import type { Disturbance, Scenario } from '../fuzz/scenarios.ts'
import type { Death } from './keeper.ts'

/** What a script has beside its scenario. */
export interface Extras {
  /** Models and tools take time between what they say and its end, so that readers see every delta. */
  readonly timed: boolean
  /** Disturbances come by the clock, else by moments. */
  readonly byClock: boolean
  /** The subagent has no tools of its own. */
  readonly bareHelper: boolean
  readonly jitter: boolean
  /** The process of the first run dies in silence. */
  readonly silentDeath: boolean
  readonly loopGuard: 'default' | 'low' | 'off'
  readonly price: boolean
  readonly maxCost: string | undefined
  readonly maxQueuedInputs: number | undefined
  /** Runs that carry an earlier definition. */
  readonly pinned: 'none' | 'all' | 'later'
  /** An input comes when the end of a run is stored. */
  readonly lateInput: boolean
  /** The tool that the agent lacks is somebody else's. */
  readonly remote: boolean
  readonly overlays: boolean
  /** Further plain options of a run. */
  readonly options: boolean
}

/** A conversation as plain data. */
export interface Script {
  readonly scenario: Scenario
  readonly extras: Extras
  readonly deaths: readonly Death[]
}

/** When a disturbance comes. */
export function triggerOf({ byClock }: Extras, { after }: Pick<Disturbance, 'after'>): { readonly moment: number } | { readonly ms: number } {
  return byClock ? { ms: after / 2 } : { moment: after }
}
