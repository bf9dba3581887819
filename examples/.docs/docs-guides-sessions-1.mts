import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'

const model = scriptedModel([{ text: 'Red.' }, { text: 'Then blue.' }, { text: 'We left a talk about blue.' }, { text: 'Green.' }])
const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model })] }) // in memory
await runtime.start()
const session = runtime.session('room:1')
await (await session.send('Which colour?')).result()
const { leaf } = await session.open() // the end of the active path
await session.label(leaf!, 'the first answer')
await (await session.send('I do not like it.')).result()

await session.switchTo(leaf, { summarize: true }) // back, with a summary of the branch that is left
await (await session.send('Another one?')).result()
const fork = await session.fork({ key: 'room:2' }) // a session of its own
console.log((await session.branches()).items.length, (await fork.messages()).items.length) // → 2 4

const lines: string[] = []
for await (const line of session.export({ allBranches: true })) lines.push(line)
const copy = await runtime.importSession(ReadableStream.from(lines), { key: 'room:3' }) // checked, and stored whole or not at all
console.log((await copy.info())?.leaf === (await session.info())?.leaf) // → true
await runtime.stop()

export {}
