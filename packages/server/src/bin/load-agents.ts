import { existsSync } from 'node:fs'
import type { Agent } from '@bowline/agent-loop'
import { createRuntime, SessionError } from '@bowline/sessions'
import { ConfigError } from '../config/config-error.ts'
import type { WholeConfig } from '../config/resolve-config.ts'
import { describeLoadFailure, loadModule } from '../config/load-module.ts'

/** Returns the configured agents. Throws if the configuration names an agent that does not exist. */
export async function configuredAgents({ agents: file, values, access, bridge }: WholeConfig<'agents'>): Promise<readonly Agent[]> {
  const agents = await loadAgents(file)
  checkNames(agents)
  const names = agents.flatMap(({ name }) => name ?? [])
  const { defaultAgent } = values
  const named = [
    ...(defaultAgent === undefined ? [] : [{ path: 'defaultAgent', name: defaultAgent }]),
    ...Object.keys(access).map((name) => ({ path: 'access', name })),
    ...(bridge?.agents ?? []).map((name) => ({ path: 'bridge.agents', name })),
  ]
  const unknown = named.filter(({ name }) => !names.includes(name))
  if (unknown.length === 0) return agents
  throw new ConfigError(unknown.map(({ path, name }) => ({ path, message: `there is no agent ${name}; there are ${names.join(', ')}` })))
}

/** Checks the names by creating a runtime. A runtime does nothing until it is started. */
function checkNames(agents: readonly Agent[]): void {
  if (agents.some(({ name }) => name === undefined)) throw noAgents('an agent has no name: set name in defineAgent')
  try {
    createRuntime({ agents })
  } catch (error) {
    if (!SessionError.isInstance(error)) throw error
    throw noAgents(error.message, error)
  }
}

/** Returns the agents of a module: its export `agents`, else its default export, else all exports that are agents. */
async function loadAgents(file: string): Promise<readonly Agent[]> {
  if (!existsSync(file)) throw noAgents(`there is no file ${file}`)
  const module = await loadModule(file).catch((error: unknown) => {
    throw noAgents(`${file} ${describeLoadFailure(error, file)}`, error)
  })
  const named = 'agents' in module ? 'agents' : 'default'
  const chosen = module[named]
  const agents = chosen === undefined ? Object.values(module).filter(isAgent) : agentsIn(chosen, `${file}: the export ${named}`)
  if (agents.length === 0) throw noAgents(`${file} exports no agent: export the result of defineAgent`)
  return [...new Set(agents)]
}

function agentsIn(value: unknown, what: string): readonly Agent[] {
  if (isAgent(value)) return [value]
  const list: unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [value]
  return list.map((each) => {
    if (isAgent(each)) return each
    throw noAgents(`${what} must be an agent of defineAgent, a list of them, or a record`)
  })
}

/** Recognizes an agent by its members, because another installed copy of the package may have created it. */
function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false
  const { run, compact, tools } = value as Partial<Agent>
  return typeof run === 'function' && typeof compact === 'function' && Array.isArray(tools)
}

function noAgents(message: string, cause?: unknown): ConfigError {
  return new ConfigError([{ path: 'agents', message }], cause)
}
