import { modelTarget } from './model-target.ts'
import type { Turn } from './turn.ts'

/** The hash of the definition that the turn runs under: read once, known from then on. Undefined when it cannot be read. */
export async function turnFingerprint(turn: Turn): Promise<string | undefined> {
  const { agent, run, stop } = turn
  if (run.pinnedHash !== undefined) return run.pinnedHash
  const { fingerprints, model, models, runtimeParams } = agent
  try {
    // Params of the run are no part of the definition.
    const { name } = run.runtimeParams.model === undefined ? run.models[0] : modelTarget(model, models, runtimeParams)
    return fingerprints.known(name) ?? (await stop.until(fingerprints.hash(name)))
  } catch {
    // A schema that cannot be read fails the request that needs it.
    return undefined
  }
}
