import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { recordRequests } from '@bowline/sessions/requests'
import { sqliteStore } from '@bowline/sessions/sqlite'

const store = sqliteStore({ file: '.bowline/data.db' })
const requests = recordRequests({ store, ttlMs: 7 * 86_400_000 })
const model = scriptedModel([{ text: 'Hello.' }, { text: 'A knot.' }])
const agent = defineAgent({ name: 'assistant', model, instructions: 'Be brief.', extensions: [requests.extension] })
const runtime = createRuntime({ agents: [agent], store, requests }) // so that it removes the requests of deleted sessions
await runtime.start()

const session = runtime.session('room:1')
await (await session.send('Hi')).result()
await (await session.send('What is a bowline?')).result()
const [newest] = (await requests.list('room:1')).items
console.log(newest?.messageCount, newest?.sharedCount) // → 4 2
const sent = await requests.get('room:1', newest?.id ?? '') // the id of the message, of a compaction or of a branch summary
console.log(sent?.prompt.at(-1)?.content) // → [ { type: 'text', text: 'What is a bowline?' } ]
await runtime.stop()

export {}
