import { createStepSequencer, simulateOrchestration, type OrchestrationConfig } from '@bowline/sessions'

const config: OrchestrationConfig = {
  steps: [
    { name: 'look', isDefault: true, sequence: ['search', 'read'] },
    { name: 'write', conditions: [{ type: 'tool_used', value: 'read' }], sequence: ['draft', 'save'], tools: { allow: ['save'] } },
  ],
}
const { uses, end } = simulateOrchestration(config, ['read', 'search', { tool: 'read', message: 'Go on' }])
for (const { tool, allowed, reason, step, because } of uses) console.log(step, because, tool, allowed, reason)
// → look it is the default read false the sequence expects search
// → look it stays active search true it is next in the sequence
// → look it stays active read true it is next in the sequence
console.log(end.step, end.tools, end.conditions) // → write [] [ { type: 'tool_used', value: 'read' } ]
// No tool is allowed. Why?
for (const { kind, message } of createStepSequencer(config).explain()) console.log(kind, message)
// → blocked The sequence of write names tools that its allow leaves out: "draft" at sequence[0]. It stops at sequence[0], where no tool is allowed.

export {}
