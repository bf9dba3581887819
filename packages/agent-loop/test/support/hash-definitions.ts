import { PromptCache } from '../../src/plugins/prompt/cache.ts'
import { mergeSections } from '../../src/plugins/prompt/sections.ts'
import { Fingerprints } from '../../src/run/fingerprint.ts'
import { defineTool } from '../../src/tools/define-tool.ts'

/** An agent as plain data, for another process. */
export interface PlainDefinition {
  readonly modelId: string
  readonly system: string
  readonly platform: Readonly<Record<string, string>>
  readonly tools: readonly string[]
  readonly schema: Readonly<Record<string, { readonly type: 'string' | 'number'; readonly minimum?: number }>>
}

export function hashDefinitions(definitions: readonly PlainDefinition[]): Promise<readonly string[]> {
  return Promise.all(definitions.map(hashDefinition))
}

function hashDefinition({ modelId, system, platform, tools, schema }: PlainDefinition): Promise<string> {
  const inputSchema = { type: 'object', properties: { ...schema } } as const
  const made = tools.map((name) => defineTool({ name, description: system, inputSchema }))
  return new Fingerprints(made, new PromptCache(mergeSections({ system, platform }))).hash({ provider: 'p', modelId })
}
