import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'

const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })] }) // in memory
const session = runtime.session('room:1')
await session.schedule({ id: 'news', cron: '30 7 * * 1-5', timeZone: 'Europe/Oslo', input: 'What is new?', onMissed: 'skip' })
await session.schedule({ id: 'check', every: 3_600_000, input: 'Is all well?', onBusy: 'skip' }) // or `at`, for one time
await session.schedules.pause('check')
for (const { id, status } of await session.schedules.list()) console.log(id, status) // → check paused
await session.schedules.delete('check') // → news active
await runtime.stop()

export {}
