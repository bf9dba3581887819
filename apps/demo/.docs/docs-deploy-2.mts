import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

const folder = mkdtempSync(join(tmpdir(), 'bowline-'))
const agents = [defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Hello.' }]) })]
const live = createRuntime({ agents, store: sqliteStore({ file: join(folder, 'data.db') }) })
await live.start()
await (await live.session('room:1').send('Hi')).result()

const source = new DatabaseSync(join(folder, 'data.db'), { readOnly: true })
await backup(source, join(folder, 'copy.db'))
source.close()

const restored = createRuntime({ agents, store: sqliteStore({ file: join(folder, 'copy.db') }) })
await restored.start()
console.log((await restored.session('room:1').messages()).items.length) // → 2
await restored.stop()
await live.stop()

export {}
