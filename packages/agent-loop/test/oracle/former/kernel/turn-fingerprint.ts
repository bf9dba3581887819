import type { MaybePromise } from '../base/maybe-promise.ts'
import type { ModelName } from '../events/types.ts'
import { modelTarget } from './model-target.ts'
import type { Turn } from './turn.ts'

/** The hash of the definition that the turn runs under: read once, known from then on. Undefined when it cannot be read. */
export function turnFingerprint(turn: Turn): MaybePromise<string | undefined> {
  const { agent, run } = turn
  if (run.pinnedHash !== undefined) return run.pinnedHash
  const name = ownModel(turn)
  return name && (agent.fingerprints.known(name) ?? readFingerprint(turn, name))
}

/** Params of the run are no part of the definition. A model that is not there fails only who calls it. */
function ownModel({ agent, run }: Turn): ModelName | undefined {
  const { model, models, runtimeParams } = agent
  if (run.runtimeParams.model === undefined) return run.models[0].name
  try {
    return modelTarget(model, models, runtimeParams).name
  } catch {
    return undefined
  }
}

/** A schema that cannot be read fails the request that needs it. */
function readFingerprint({ agent, stop }: Turn, name: ModelName): Promise<string | undefined> {
  return stop.until(agent.fingerprints.hash(name)).catch(() => undefined)
}
