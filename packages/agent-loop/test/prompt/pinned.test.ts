import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AgentError } from '../../src/agent-error.ts'
import { Fingerprints } from '../../src/agent/fingerprint.ts'
import { pinnedDeclarations } from '../../src/agent/pinned.ts'
import { PromptCache } from '../../src/prompt/cache.ts'
import { mergeSections } from '../../src/prompt/merge-sections.ts'
import { defineTool } from '../../src/tools/define-tool.ts'
import type { Tool } from '../../src/tools/tool.ts'

const { provider, modelId } = scriptedModel([])

function tool(name: string, description: string): Tool {
  return defineTool({ name, description, inputSchema: z.object({ [description]: z.string() }), execute: () => description })
}

async function fingerprintOf(tools: readonly Tool[]) {
  const print = await new Fingerprints(tools, new PromptCache(mergeSections({ system: 'x' }))).of({ provider, modelId }, { tools: [], now: 0 })
  return JSON.parse(JSON.stringify(print)) as typeof print
}

const byName = (tools: readonly Tool[]) => new Map(tools.map((one) => [one.name, one]))

describe('a pinned definition', () => {
  it('A183: offers the pinned tools with the pinned schemas, whatever the agent has become', async () => {
    const pinned = await fingerprintOf([tool('a', 'old'), tool('b', 'old')])
    const today = byName([tool('b', 'new'), tool('c', 'new'), tool('a', 'new')])
    expect(pinnedDeclarations(pinned, today)).toEqual([
      { name: 'a', description: 'old', inputSchema: pinned.tools[0]?.inputSchema },
      { name: 'b', description: 'old', inputSchema: pinned.tools[1]?.inputSchema },
    ])
    expect(pinned.tools[0]?.inputSchema.properties).toEqual({ old: { type: 'string' } })
  })

  it('A183: a pinned tool that the agent lacks is refused', async () => {
    const pinned = await fingerprintOf([tool('a', 'old'), tool('b', 'old')])
    const refused = () => pinnedDeclarations(pinned, byName([tool('a', 'new')]))
    expect(refused).toThrow(AgentError)
    expect(refused).toThrow(expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('"b"') }))
  })
})
