import { createOrchestration } from '@bowline/sessions'
import { kvStateStore } from '@bowline/sessions/kv'

const store = kvStateStore() // or { url, token }: by default KV_REST_API_URL and KV_REST_API_TOKEN, or Upstash's
const orchestration = createOrchestration({ store })
await orchestration.getOrCreateState('room:1')
const state = await orchestration.recordToolUse('room:1', 'search', { key: 'call-1' }) // counts once for this key
console.log(state?.recentlyUsedTools) // → [ 'search' ]
await store.close()

export {}
