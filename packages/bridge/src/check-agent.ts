import type { FieldChecks } from '@bowline/llm/arguments'
import { checkId, configChecks as check, isPlainObject } from './arguments.ts'
import type { AgentInfo, AgentProvider, BridgeAgent } from './agent.ts'

export const infoChecks: FieldChecks<AgentInfo> = {
  id: checkId,
  name: check.checkText,
  description: check.checkText,
  version: check.checkText,
}

export const providerChecks: FieldChecks<AgentProvider> = {
  id: check.checkName,
  models: check.requiredList(check.checkName),
  kind: check.checkText,
  displayName: check.checkText,
  description: check.checkText,
  capabilities: check.listOf(check.checkName),
}

const agentChecks: FieldChecks<BridgeAgent> = {
  specificationVersion: check.required(check.oneOf('v1')),
  info: check.record(infoChecks),
  capabilities: check.listOf(check.checkName),
  providers: check.listOf(check.record(providerChecks)),
  durable: check.checkBoolean,
  stateStore: check.methods('get', 'compareAndSet', 'touch', 'delete', 'list'),
  onSessionCreate: check.checkFunction,
  onPrompt: check.requiredFunction,
  onAnswers: check.checkFunction,
  onCancel: check.checkFunction,
  onSessionClose: check.checkFunction,
}

/** Throws `CONFIG` with the path of the wrong field. Unlike object literals, instances of a class may have further fields. */
export function checkAgent(path: string, agent: unknown): asserts agent is BridgeAgent {
  check.checkRequired(path, agent, 'an agent', (given) => typeof given === 'object' && given !== null && !Array.isArray(given))
  if (isPlainObject(agent)) check.checkKeys(path, agent, Object.keys(agentChecks))
  for (const [name, checkField] of Object.entries(agentChecks))
    checkField(`${path}.${name}`, (agent as Readonly<Record<string, unknown>>)[name])
}
