import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineAgent, defineTool } from '../../src/index.ts'
import type { Journal, JournalState, StoredMessage } from '../../src/index.ts'
import { crashingJournal } from '@bowline/testing'
import type { CrashPoint } from '@bowline/testing'
import { conversation } from '../support/conversation.ts'
import { remote } from '../support/tools.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })

const script: readonly Step[] = [
  { text: 'first', toolCalls: [call('o', 'once'), call('i', 'safe'), call('n', 'nobody')] },
  { toolCalls: [call('s', 'once'), call('r', 'far'), call('q', 'queued')] },
  { text: 'done' },
]

/** Plays the turn until it has ended. The process dies at one commit and a new one resumes. */
async function live(point?: CrashPoint) {
  const runs = new Map<string, number>()
  const counted = (name: string, effect: 'once' | 'idempotent', sequential = false) =>
    defineTool({
      name,
      description: '',
      inputSchema: {},
      effect,
      sequential,
      execute: (_input, { toolCallId }) => {
        runs.set(toolCallId, (runs.get(toolCallId) ?? 0) + 1)
        return `${name} ran`
      },
    })
  const agent = defineAgent({
    // It answers by what it is shown, as a real model would.
    model: scriptedModel(({ prompt }) => script[prompt.filter(({ role }) => role === 'assistant').length] ?? { text: 'too far' }),
    tools: [counted('once', 'once'), counted('safe', 'idempotent'), counted('queued', 'once', true), remote('far')],
    onUnknownOutcome: 'tell-model',
  })
  let dead = false
  const talk = conversation({
    unfinished: point !== undefined,
    wrap: (journal) => (point ? dyingOnce(journal, point, () => (dead = true)) : journal),
  })
  let state: JournalState = await talk.memory.load()
  for (let lives = 0; lives < 5 && (state.open !== undefined || state.messages.length === 0); lives++) {
    await talk.run(agent, inputFor(state)).result()
    state = await talk.memory.load()
  }
  return { messages: state.messages, open: state.open, runs, dead, commits: talk.journal.commits.length }
}

function inputFor({ open }: JournalState) {
  if (!open) return 'go'
  const waits = open.openMessageId === undefined && open.calls.some(({ state }) => state === 'remote')
  return waits ? { toolResults: [{ toolCallId: 'r', output: 'yes' }] } : undefined
}

/** Makes only the first process die. */
function dyingOnce(journal: Journal, point: CrashPoint, onDeath: () => void): Journal {
  const crashing = crashingJournal(journal, point)
  let seen = false
  return {
    ...journal,
    async load() {
      seen ||= crashing.crashed
      return journal.load()
    },
    async commit(records, expect) {
      if (seen) return journal.commit(records, expect)
      try {
        return await crashing.commit(records, expect)
      } catch (error) {
        onDeath()
        throw error
      }
    },
  }
}

function shapeOf(messages: readonly StoredMessage[]): readonly string[] {
  return messages.map((message) =>
    message.role === 'tool-result' ? message.toolCallId : `${message.role} ${JSON.stringify(message.content)}`,
  )
}

describe('a crash at every commit', () => {
  it('A171, A172: the transcript holds every message once, and once calls run at most once', async () => {
    const calm = await live()
    expect(calm.open).toBeUndefined()
    expect(shapeOf(calm.messages)).toHaveLength(10)
    expect(calm.commits).toBeGreaterThan(5)
    for (let commit = 1; commit <= calm.commits; commit++) {
      for (const when of ['before', 'after'] as const) {
        const stormy = await live({ commit, when })
        const name = `${when} commit ${commit}`
        expect(stormy.dead, name).toBe(true)
        expect(stormy.open, name).toBeUndefined()
        expect(shapeOf(stormy.messages), name).toEqual(shapeOf(calm.messages))
        for (const id of ['o', 's', 'q']) expect(stormy.runs.get(id) ?? 0, `${name}: ${id}`).toBeLessThanOrEqual(1)
        for (const message of stormy.messages) {
          if (message.role !== 'tool-result' || message.status !== 'unknown') continue
          expect(['o', 's', 'q'], name).toContain(message.toolCallId)
        }
      }
    }
  })
})
