import type { DepthOption } from '../bridge-contract.ts'
import { workContext } from '../context.ts'
import { BridgeError } from '../errors.ts'

export interface Lineage {
  readonly depth: number
  readonly path: readonly string[]
}

/** Returns the depth and path of a new session: one level below the calling agent, if there is one. */
export function lineageOf({ depth, path }: DepthOption): Lineage {
  const above = workContext()
  const agents = path ?? (above ? [...above.path, above.agentId] : [])
  return { depth: depth ?? (above ? above.depth + 1 : agents.length), path: agents }
}

/** Throws `PROTOCOL` if delegation is too deep or circular. */
export function checkLineage(
  { depth, path }: Lineage,
  agentId: string,
  limits: { readonly maxDepth: number; readonly allowLoops: boolean },
): void {
  const refuse = (reason: string, message: string): never => {
    throw new BridgeError('PROTOCOL', message, { details: { reason, agentId } })
  }
  if (depth > limits.maxDepth) refuse('too-deep', `The limit of nested delegations is reached (maxDepth: ${limits.maxDepth})`)
  if (!limits.allowLoops && path.includes(agentId))
    refuse('loop', `Agent ${agentId} already works on this task: ${[...path, agentId].join(' → ')}`)
}
