import { createOrchestration } from '@bowline/sessions'

const orchestration = createOrchestration({
  config: {
    steps: [
      { name: 'look', isDefault: true, tools: { allow: ['search'] } },
      { name: 'write', conditions: [{ type: 'tool_used', value: 'search' }] },
    ],
  },
})
await orchestration.getOrCreateState('room:1')
console.log((await orchestration.allowedTools('room:1', ['search', 'save'])).tools) // → [ 'search' ]
await orchestration.recordToolUse('room:1', 'search')
console.log((await orchestration.allowedTools('room:1', ['search', 'save'])).tools) // → [ 'search', 'save' ]

export {}
