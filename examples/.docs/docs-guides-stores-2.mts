import { createOrchestration } from '@bowline/sessions'
import { postgresStateStore } from '@bowline/sessions/postgres'

const store = postgresStateStore() // or { connectionString }: by default the variable DATABASE_URL
const orchestration = createOrchestration({ store })
await orchestration.getOrCreateState('room:1')
const state = await orchestration.recordToolUse('room:1', 'search', { key: 'call-1' }) // counts once for this key
console.log(state?.recentlyUsedTools) // → [ 'search' ]
await store.close()

export {}
