import { ESLint } from 'eslint'
import tseslint from 'typescript-eslint'
import { describe, expect, it } from 'vitest'
import { layerConfigs, layers } from '../../eslint.layers.js'
import { root } from '../setup.mjs'

const eslint = new ESLint({
  cwd: root,
  overrideConfigFile: true,
  baseConfig: [{ files: ['**/*.ts', '**/*.tsx'], languageOptions: { parser: tseslint.parser } }, ...layerConfigs],
})

/** Returns whether the layer rule allows `file` (which need not exist) to contain this code. */
async function accepts(file: string, code: string) {
  const [result] = await eslint.lintText(code, { filePath: file })
  const messages = result?.messages ?? []
  expect(messages.filter((message) => !message.ruleId?.startsWith('boundaries/'))).toEqual([])
  return messages.length === 0
}

const legal: readonly (readonly [string, string])[] = [
  ['packages/llm/src/probe.ts', "import { generateText } from 'ai'"],
  ['packages/llm/src/probe.ts', "import type { JSONValue } from '@ai-sdk/provider'"],
  ['packages/llm/src/probe.ts', "import type { MessageEvent } from './events.ts'"],
  ['packages/agent-loop/src/kernel/probe.ts', "import { streamMessage } from '@bowline/llm'"],
  ['packages/agent-loop/src/node/probe.ts', "import { readFile } from 'node:fs/promises'"],
  ['packages/agent-loop/src/events/probe.ts', "import type { Usage } from '@bowline/llm'"],
  ['packages/agent-loop/src/events/probe.ts', "import { reduceEvents } from './reduce.ts'"],
  ['packages/sessions/src/probe.ts', "import { agent } from '@bowline/agent-loop'"],
  ['packages/sessions/src/probe.ts', "import { DatabaseSync } from 'node:sqlite'"],
  ['packages/sessions/src/probe.ts', "import { Kysely } from 'kysely'"],
  ['packages/restate/src/probe.ts', "import { object } from '@restatedev/restate-sdk'"],
  ['packages/restate/test/probe.ts', "import { postgresStore } from '@bowline/postgres'"],
  ['packages/bridge/src/probe.ts', "import { McpServer } from '@modelcontextprotocol/server'"],
  ['packages/server/src/probe.ts', "import type { SessionView } from '@bowline/client'"],
  ['packages/sessions/test/probe.ts', "import { testRowStore } from '@bowline/testing/stores'"],
  ['packages/sessions/test/probe.ts', "import { aroundStore } from '../../testing/src/around-store.ts'"],
  ['packages/server/src/probe.ts', "import { createRoute } from '@hono/zod-openapi'"],
  ['packages/server/src/node/probe.ts', "import { createServer } from 'node:http'"],
  ['packages/client/src/probe.ts', "import { reduceEvents } from '@bowline/agent-loop/events'"],
  ['packages/client/src/probe.ts', "import type { Agent } from '@bowline/agent-loop'"],
  ['packages/client/src/react.ts', "import { useState } from 'react'"],
  ['packages/llm/src/testing/probe.ts', "import { expect } from 'vitest'"],
  ['packages/sessions/test/probe.test.ts', "import { it } from 'vitest'\nimport { x } from '@bowline/llm/testing'"],
]

const illegal: readonly (readonly [string, string])[] = [
  ['packages/llm/src/probe.ts', "import { run } from '@bowline/agent-loop'"],
  ['packages/llm/src/probe.ts', "import { run } from '../../agent-loop/src/events/index.ts'"],
  ['packages/llm/src/probe.ts', "export { run } from '@bowline/agent-loop'"],
  ['packages/llm/src/probe.ts', "import type { Run } from '@bowline/agent-loop'"],
  ['packages/llm/src/probe.ts', "export const load = () => import('@bowline/agent-loop')"],
  ['packages/llm/src/probe.ts', "import { Kysely } from 'kysely'"],
  ['packages/llm/src/probe.ts', "import { readFile } from 'node:fs/promises'"],
  ['packages/llm/src/probe.ts', "import { readFile } from 'fs/promises'"],
  ['packages/llm/src/probe.ts', "import { scriptedModel } from './testing/index.ts'"],
  ['packages/sessions/src/probe.ts', "import { testRowStore } from '@bowline/testing/stores'"],
  ['packages/llm/test/probe.test.ts', "import { run } from '@bowline/agent-loop'"],
  ['packages/agent-loop/src/kernel/probe.ts', "import { readFile } from 'node:fs/promises'"],
  ['packages/agent-loop/src/events/probe.ts', "import { addUsage } from '@bowline/llm'"],
  ['packages/agent-loop/src/events/probe.ts', "import { v7 } from 'uuid'"],
  ['packages/agent-loop/src/events/probe.ts', "import { hashJson } from '../hash-json.ts'"],
  ['packages/agent-loop/src/probe.ts', "import { createRuntime } from '@bowline/sessions'"],
  ['packages/agent-loop/src/probe.ts', "import { generateText } from 'ai'"],
  ['packages/sessions/src/probe.ts', "import { createServer } from '@bowline/server'"],
  ['packages/sessions/src/probe.ts', "import { generateText } from 'ai'"],
  ['packages/sessions/src/probe.ts', "import { scriptedModel } from '@bowline/llm/testing'"],
  ['packages/sessions/src/probe.ts', "import type { MessageEvent } from '../../llm/src/events.ts'"],
  ['packages/sessions/src/probe.ts', "import { object } from '@restatedev/restate-sdk'"],
  ['packages/restate/src/probe.ts', "import { postgresStore } from '@bowline/postgres'"],
  ['packages/bridge/src/probe.ts', "import { Hono } from 'hono'"],
  ['packages/server/src/probe.ts', "import { createClient } from '@bowline/client'"],
  ['packages/server/src/probe.ts', "import { createServer } from 'node:http'"],
  ['packages/client/src/probe.ts', "import { defineAgent } from '@bowline/agent-loop'"],
  ['packages/client/src/probe.ts', "import { streamMessage } from '@bowline/llm'"],
  ['packages/client/src/probe.ts', "import { useState } from 'react'"],
  ['packages/client/src/probe.ts', "import { readFile } from 'node:fs'"],
  ['packages/client/src/probe.ts', "import { demo } from '../../../apps/demo/src/supervisor.ts'"],
  ['packages/sessions/src/probe.ts', "import { expect } from 'vitest'"],
  // Files outside packages.
  ['packages/llm/src/probe.ts', "import config from '../../../vitest.config.ts'"],
  ['packages/sessions/test/probe.test.ts', "import { layers } from '../../../eslint.layers.js'"],
  ['packages/llm/src/probe.ts', "import { layers } from '../../../no-such-file.js'"],
]

describe('layer table', () => {
  it.each(legal)('%s may contain: %s', async (file, code) => {
    expect(await accepts(file, code)).toBe(true)
  })

  it.each(illegal)('%s must not contain: %s', async (file, code) => {
    expect(await accepts(file, code)).toBe(false)
  })

  it('names every package of the workspace, each only below itself', () => {
    const order = Object.keys(layers)
    expect(order).toEqual(['llm', 'agent-loop', 'sessions', 'postgres', 'redis', 'restate', 'bridge', 'server', 'client', 'testing'])
    for (const [name, layer] of Object.entries(layers)) expect(layer.packages).not.toContain(name)
  })
})
