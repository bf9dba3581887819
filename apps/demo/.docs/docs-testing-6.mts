import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { recordRequests } from '@bowline/sessions/requests'

const store = memoryStore()
const requests = recordRequests({ store })
const model = scriptedModel([{ text: 'Hello.' }])
const agent = defineAgent({ name: 'assistant', model, instructions: 'Be brief.', extensions: [requests.extension] })
const runtime = createRuntime({ agents: [agent], store, requests })
await (await runtime.session('room:1').send('Hi')).result()
const [{ id = '' } = {}] = (await requests.list('room:1')).items
console.log((await requests.get('room:1', id))?.prompt.map(({ role }) => role)) // → [ 'system', 'user' ]
await runtime.stop()

export {}
