import { createOrchestration } from '@bowline/sessions'
import { sqliteStateStore } from '@bowline/sessions/sqlite'

const store = sqliteStateStore({ file: '.bowline/data.db' })
const orchestration = createOrchestration({ store })
await orchestration.getOrCreateState('room:1')
const state = await orchestration.recordToolUse('room:1', 'search', { key: 'call-1' }) // counts once for this key
console.log(state?.recentlyUsedTools) // → [ 'search' ]
await store.close()

export {}
