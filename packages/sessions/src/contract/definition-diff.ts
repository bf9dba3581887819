import { canonicalJson, type AgentFingerprint } from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'

/** Differences between the definition with which a run began and the present one. */
export interface DefinitionDiff {
  /** Hash of the definition. */
  readonly from: string
  readonly to: string
  readonly instructions: boolean
  readonly model?: { readonly from: string; readonly to: string }
  readonly tools: {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly changed: readonly { readonly name: string; readonly fields: readonly ToolField[] }[]
  }
}

type ToolField = (typeof toolFields)[number]
const toolFields = ['description', 'inputSchema', 'effect'] as const

/**
 * Action on a run whose agent definition has changed. `continue`: use the new one. `pin`: show the model the old one.
 * `refuse`: wait for `recover`.
 */
export type DefinitionDecision = 'continue' | 'pin' | 'refuse'
/** A decision for every changed definition, or a function that decides by the differences. A function that throws counts as `refuse`. */
export type DefinitionPolicy = DefinitionDecision | ((diff: DefinitionDiff) => DefinitionDecision)

export function diffOf(before: AgentFingerprint, now: AgentFingerprint): DefinitionDiff {
  const old = new Map(before.tools.map((tool) => [tool.name, tool]))
  const names = new Set(now.tools.map((tool) => tool.name))
  const [fromModel, toModel] = [before, now].map(({ model }) => `${model.provider}:${model.modelId}`)
  return {
    from: before.hash,
    to: now.hash,
    instructions: before.instructions !== now.instructions,
    ...(fromModel !== toModel && fromModel !== undefined && toModel !== undefined && { model: { from: fromModel, to: toModel } }),
    tools: {
      added: now.tools.flatMap(({ name }) => (old.has(name) ? [] : name)),
      removed: before.tools.flatMap(({ name }) => (names.has(name) ? [] : name)),
      changed: now.tools.flatMap((tool) => {
        const earlier = old.get(tool.name)
        const fields = earlier ? toolFields.filter((field) => !isSame(earlier[field], tool[field])) : []
        return fields.length > 0 ? { name: tool.name, fields } : []
      }),
    },
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a as JSONValue) === canonicalJson(b as JSONValue)
}

/** Returns the decision of the policy. If the policy throws, the decision is `refuse`: continuing a run needs explicit consent. */
export function decide(policy: DefinitionPolicy, diff: DefinitionDiff): DefinitionDecision {
  if (typeof policy !== 'function') return policy
  try {
    const decision = policy(diff)
    return decision === 'continue' || decision === 'pin' ? decision : 'refuse'
  } catch {
    return 'refuse'
  }
}

/** Lists the changes for the person who decides. */
export function describeDiff({ instructions, model, tools }: DefinitionDiff): string {
  const changes = [
    ...(instructions ? ['the instructions'] : []),
    ...(model ? [`the model (${model.from} is ${model.to} now)`] : []),
    ...tools.added.map((name) => `the new tool ${name}`),
    ...tools.removed.map((name) => `the removed tool ${name}`),
    ...tools.changed.map(({ name, fields }) => `${fields.join(', ')} of the tool ${name}`),
  ]
  return changes.length > 0 ? changes.join('; ') : 'nothing that is sent to the model'
}
