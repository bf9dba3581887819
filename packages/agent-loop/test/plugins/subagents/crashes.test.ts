import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineAgent, defineGuardrail, defineTool } from '../../../src/index.ts'
import type { Agent, AgentInput, AgentResult, Journal, StoredMessage } from '../../../src/index.ts'
import { crashingJournal } from '@bowline/testing'
import type { CrashPoint, RecordingJournal } from '@bowline/testing'
import { conversation } from '../../support/conversation.ts'
import { remote } from '../../support/tools.ts'
import { handOver, plainCall } from './support.ts'

/** Creates a model that answers by what it is shown, as a real model would. */
function byPrompt(steps: readonly Step[]) {
  return scriptedModel(({ prompt }) => steps[prompt.filter(({ role }) => role === 'assistant').length] ?? { text: 'too far' })
}

function family(ran: string[]): Agent {
  const counted = (name: string, effect: 'once' | 'idempotent', needsApproval = false) =>
    defineTool({
      name,
      description: '',
      inputSchema: {},
      effect,
      needsApproval,
      execute: (_input, { runId, toolCallId }) => {
        ran.push(`${runId}/${toolCallId}`)
        return `${name} ran`
      },
    })
  const settings = { retry: false, onUnknownOutcome: 'tell-model' } as const
  const inner = defineAgent({
    ...settings,
    name: 'inner',
    description: 'is deep',
    tools: [counted('pay', 'once'), remote('far')],
    model: byPrompt([{ toolCalls: [plainCall('p', 'pay'), plainCall('r', 'far')] }, { text: 'inner is done' }]),
  })
  const outer = defineAgent({
    ...settings,
    name: 'outer',
    description: 'is near',
    subagents: [inner],
    tools: [counted('send', 'once', true)],
    model: byPrompt([
      { text: 'so', toolCalls: [handOver('i', 'inner')] },
      { toolCalls: [plainCall('q', 'send')] },
      { text: 'outer is done' },
    ]),
  })
  return defineAgent({
    ...settings,
    subagents: [outer],
    tools: [counted('note', 'idempotent')],
    // Called after a commit of everything before the outcome.
    guardrails: [defineGuardrail({ name: 'watch', afterCall: () => undefined })],
    model: byPrompt([{ toolCalls: [handOver('d', 'outer'), plainCall('n', 'note')] }, { text: 'done' }]),
  })
}

/** Makes only the first process die. */
function dyingOnce(journal: Journal, point: CrashPoint, state: { died: boolean }): Journal {
  const crashing = crashingJournal(journal, point)
  const wrap = (living: Journal, dying: Journal): Journal => ({
    ...living,
    commit: (records, expect) => {
      if (state.died) return living.commit(records, expect)
      return dying.commit(records, expect)
    },
    ...(living.child &&
      dying.child && {
        child: (key, meta) => wrap(living.child?.(key, meta) as Journal, dying.child?.(key, meta) as Journal),
      }),
  })
  return wrap(journal, crashing)
}

async function live(point?: CrashPoint) {
  const ran: string[] = []
  const state = { died: false }
  const agent = family(ran)
  const talk = conversation({ unfinished: point !== undefined, wrap: (journal) => (point ? dyingOnce(journal, point, state) : journal) })
  let input: AgentInput | undefined = 'go'
  let stored = await talk.memory.load()
  for (let lives = 0; lives < 8 && (stored.open !== undefined || stored.messages.length === 0); lives++) {
    const result = await talk.run(agent, input).result()
    state.died ||= result.reason === 'journal-error'
    stored = await talk.memory.load()
    input = answersTo(result) ?? (stored.open ? undefined : 'go')
  }
  return { ...stored, ran, died: state.died, commits: commitsOf(talk.journal), talk }
}

function answersTo({ pendingToolCalls, pendingApprovals }: AgentResult): AgentInput | undefined {
  if (pendingToolCalls.length + pendingApprovals.length === 0) return undefined
  return {
    toolResults: pendingToolCalls.map(({ toolCallId, path }) => ({ toolCallId, path, output: 'fetched' })),
    approvals: pendingApprovals.map(({ approvalId }) => ({ approvalId, decision: 'approve' })),
  }
}

function commitsOf({ commits, childJournals }: RecordingJournal): number {
  return [...childJournals.values()].reduce((sum, child) => sum + commitsOf(child), commits.length)
}

function shapeOf(messages: readonly StoredMessage[]): readonly string[] {
  return messages.map((message) =>
    message.role === 'tool-result' ? message.toolCallId : `${message.role} ${JSON.stringify(message.content)}`,
  )
}

function shapes(
  { childJournals }: RecordingJournal,
  load: (journal: RecordingJournal) => readonly StoredMessage[],
): Record<string, unknown> {
  return Object.fromEntries(
    [...childJournals].map(([key, child]) => [key.replace(/^run_\d+/, 'run'), [shapeOf(load(child)), shapes(child, load)]]),
  )
}

async function storedBy(journal: RecordingJournal): Promise<Map<RecordingJournal, readonly StoredMessage[]>> {
  const stored = new Map([[journal, (await journal.load()).messages]])
  for (const child of journal.childJournals.values()) for (const [key, messages] of await storedBy(child)) stored.set(key, messages)
  return stored
}

describe('a crash at every commit of a tree', () => {
  it('A171, A172: afterwards every conversation holds every message once, and once calls run at most once', async () => {
    const calm = await live()
    expect(calm.ended).toMatchObject({ status: 'completed', steps: 2 })
    expect([...calm.ran].sort()).toEqual(['run_1/d/i/p', 'run_1/d/q', 'run_1/n'])
    expect(calm.commits).toBeGreaterThan(15)
    const calmStored = await storedBy(calm.talk.journal)
    const calmShapes = shapes(calm.talk.journal, (journal) => calmStored.get(journal) ?? [])
    for (let commit = 1; commit <= calm.commits; commit++) {
      for (const when of ['before', 'after'] as const) {
        const name = `${when} commit ${commit}`
        const stormy = await live({ commit, when })
        expect(stormy.died, name).toBe(true)
        expect(stormy.ended, name).toMatchObject({ status: 'completed', steps: 2 })
        expect(shapeOf(stormy.messages), name).toEqual(shapeOf(calm.messages))
        const stored = await storedBy(stormy.talk.journal)
        expect(
          shapes(stormy.talk.journal, (journal) => stored.get(journal) ?? []),
          name,
        ).toEqual(calmShapes)
        for (const once of ['/p', '/q'])
          expect(stormy.ran.filter((id) => id.endsWith(once)).length, `${name}: ${once}`).toBeLessThanOrEqual(1)
        const view = stormy.talk.view()
        expect(view, name).toMatchObject({ status: 'completed', pendingApprovals: [], pendingToolCalls: [] })
        expect(
          view.children.map(({ status }) => status),
          name,
        ).toEqual(['completed'])
        expect(
          stormy.talk.journal.events.filter((event) => event.type === 'usage' && event.purpose === 'child'),
          name,
        ).toHaveLength(1)
      }
    }
  })
})
