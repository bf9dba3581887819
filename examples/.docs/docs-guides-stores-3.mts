import { createOrchestration } from '@bowline/sessions'
import { redisStateStore } from '@bowline/sessions/redis'

const store = redisStateStore() // or { url }, or { client }: by default the variable REDIS_URL
const orchestration = createOrchestration({ store })
await orchestration.getOrCreateState('room:1')
const state = await orchestration.recordToolUse('room:1', 'search', { key: 'call-1' }) // counts once for this key
console.log(state?.recentlyUsedTools) // → [ 'search' ]
await store.close()

export {}
