import type { Agent, RunOptions } from '../../src/index.ts'
import type { OracleWorld } from './oracle-world.ts'
import type { Script } from './script.ts'

interface Scene {
  readonly script: Script
  readonly world: OracleWorld
  readonly agent: Agent
}

/** The plain options of a run that a script asks for. */
export async function runOptions({ script, world, agent }: Scene, { place }: { readonly place: number }): Promise<RunOptions> {
  const { extras, scenario } = script
  const { overlays, remote, options, maxQueuedInputs, maxCost, pinned } = extras
  const isPinned = scenario.agent.instructions === 'text' && (pinned === 'all' || (pinned === 'later' && place > 0))
  return {
    ...(overlays && { overlays: [`shown in run ${place}`] }),
    ...(remote && { remoteTools: [{ name: 'nobody', description: 'a tool of somebody else', inputSchema: { type: 'object' } }] }),
    ...(options && { runtimeParams: { maxTokens: 150, temperature: 0.5 }, source: 'elsewhere', context: { tenant: 7 }, sessionKey: 'a-session' }),
    ...((maxQueuedInputs !== undefined || maxCost !== undefined) && { limits: { ...(maxQueuedInputs !== undefined && { maxQueuedInputs }), ...(maxCost !== undefined && { maxCost }) } }),
    ...(isPinned && { pinned: await pinnedBy(world, agent) }),
  }
}

async function pinnedBy(world: OracleWorld, agent: Agent): Promise<NonNullable<RunOptions['pinned']>> {
  const fingerprint = agent.fingerprint()
  await world.settle(fingerprint)
  const { tools, ...rest } = await fingerprint
  return { ...rest, instructions: 'as it was', tools: tools.map((tool) => ({ ...tool, description: `${tool.description}, as it was` })) }
}
