import { defineAgent } from '@bowline/agent-loop'
import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import { scriptedModel } from '@bowline/llm/testing'

const run = defineAgent({ model: scriptedModel([{ text: 'Hello.' }]) }).run('Hi')
let view = emptyView
for await (const event of run) view = reduceEvents(view, event)
console.log(view.status, view.messages.length) // → completed 2

export {}
