// A store of your own, and the tests that every state store must pass. The kit defines them with your test runner.
//
//   npm install @bowline/sessions @bowline/agent-loop @bowline/llm ai zod
//   node main.ts

import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { memoryStateStore } from '@bowline/sessions'
import { testStateStore } from '@bowline/testing/stores'
import { encryptedStateStore } from './store.ts'

const key = randomBytes(32)

testStateStore({
  name: 'encrypted',
  create: async (clock) => encryptedStateStore(memoryStateStore({ clock }), key),
  runner: {
    describe: (name, define) => void describe(name, define),
    it: (name, test, timeout) => void it(name, { timeout: timeout ?? 30_000 }, test),
  },
})
