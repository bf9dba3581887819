/** By `Symbol.for`, so that two installed copies of this package know each other's agents. */
export const definitionKey: unique symbol = Symbol.for('bowline.agent-loop.definition') as never

/** Whether an agent was made by `defineAgent`; a copy of one by spreading still is. */
export function isDefined(agent: unknown): boolean {
  return typeof agent === 'object' && agent !== null && definitionKey in agent
}
