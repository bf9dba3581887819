import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineTool } from '../../src/index.ts'
import type { AgentInput, AgentOptions, AgentResult, DurableEvent, RunOptions, StoredMessage, ToolEffect } from '../../src/index.ts'
import { crashingJournal } from '@bowline/testing'
import type { CrashPoint } from '@bowline/testing'
import { extension } from '../plugins/extensions/support.ts'
import { guardrail } from '../plugins/guardrails/support.ts'
import { conversation, readAll } from '../support/conversation.ts'

const call = (id: string, name: string) => ({ id, name, input: { text: id } })

const script: readonly Step[] = [
  { text: 'first', toolCalls: [call('p', 'pure'), call('o', 'once'), call('n', 'nobody'), call('i', 'idempotent')] },
  { toolCalls: [call('r', 'far'), call('x', 'guarded'), call('s', 'once'), call('q', 'queued')] },
  { text: 'done' },
]

/** The life of the turn, and the commit in it, at which the process dies. */
interface Death extends CrashPoint {
  readonly life: number
}

interface Scenario {
  readonly options?: Partial<AgentOptions>
  readonly run?: RunOptions
}

/** Inputs that each tool got, by call. */
type Inputs = ReadonlyMap<string, readonly string[]>

function tools() {
  const inputs = new Map<string, string[]>()
  const inputSchema = z.object({ text: z.string() })
  const here = (name: string, effect: ToolEffect, more: { sequential?: boolean; needsApproval?: boolean } = {}) =>
    defineTool({
      name,
      description: '',
      inputSchema,
      effect,
      ...more,
      execute: ({ text }, { toolCallId }) => {
        inputs.set(toolCallId, [...(inputs.get(toolCallId) ?? []), text])
        return `${name} ran`
      },
    })
  const far = defineTool({ name: 'far', description: '', inputSchema })
  const made = [
    here('pure', 'pure'),
    here('idempotent', 'idempotent'),
    here('once', 'once'),
    here('queued', 'once', { sequential: true }),
    here('guarded', 'once', { needsApproval: true }),
    far,
  ]
  return { made, inputs }
}

/** Plays one life after the other until the turn has ended. Each resumes as its caller would. */
async function live({ options = {}, run = {} }: Scenario, death?: Death) {
  const { made, inputs } = tools()
  // It answers by what it is shown, as a real model would.
  const model = scriptedModel(({ prompt }) => script[prompt.filter(({ role }) => role === 'assistant').length] ?? { text: 'too far' })
  const agent = defineAgent({ model, tools: made, onUnknownOutcome: 'tell-model', retry: false, ...options })
  const talk = conversation({ unfinished: death !== undefined })
  const commits: number[] = []
  let last: AgentResult | undefined
  let dead = false
  for (let lives = 0; lives < 8 && !(last && (await hasEnded())); lives++) {
    const before = talk.journal.commits.length
    const journal = death?.life === lives ? crashingJournal(talk.journal, { commit: death.commit, when: death.when }) : talk.journal
    const started = talk.run(agent, inputAfter(last, (await talk.memory.load()).turns), { ...run, journal })
    await readAll(started)
    last = await started.result()
    dead ||= last.reason === 'journal-error'
    commits.push(talk.journal.commits.length - before)
  }
  const { messages, open } = await talk.memory.load()
  return { messages, open, inputs: inputs as Inputs, commits, dead, events: talk.journal.events }

  async function hasEnded(): Promise<boolean> {
    const state = await talk.memory.load()
    return state.open === undefined && state.messages.length > 0
  }
}

function inputAfter(last: AgentResult | undefined, turns: number): AgentInput | undefined {
  if (!last || turns === 0) return 'go'
  const toolResults = last.pendingToolCalls.map(({ toolCallId }) => ({ toolCallId, output: 'from afar' }))
  const approvals = last.pendingApprovals.map(({ approvalId }) => ({ approvalId, decision: 'approve' as const }))
  return toolResults.length + approvals.length > 0 ? { toolResults, approvals } : undefined
}

function shapeOf(messages: readonly StoredMessage[]): readonly string[] {
  return messages.map((message) => {
    if (message.role !== 'tool-result') return `${message.role} ${JSON.stringify(message.content)}`
    return message.status === 'unknown'
      ? `${message.toolCallId} unknown`
      : `${message.toolCallId} ${message.status} ${JSON.stringify(message.output)}`
  })
}

const endOf = (events: readonly DurableEvent[]) => {
  const end = events.findLast((event) => event.type === 'turn-end')
  return end && [end.status, end.reason, end.steps]
}

const quiet = extension('quiet', {
  beforeAgentStart: () => undefined,
  onTurnStart: () => undefined,
  onStepStart: () => undefined,
  onStepEnd: () => undefined,
  afterModelCall: () => undefined,
  onToolCall: ({ input }) => ({ action: 'modify', input: { text: `${(input as { text: string }).text}!` } }),
  onToolResult: () => ({ details: { seen: true } }),
  onAgentEnd: () => undefined,
  onSavePoint: () => undefined,
  onSettled: () => undefined,
})
const watchful = guardrail('watchful', {
  onTurnStart: () => {},
  beforeCall: () => undefined,
  afterCall: () => ({ action: 'warn', reason: 'mind it' }),
  onTurnEnd: () => {},
})

const scenarios: readonly [string, Scenario][] = [
  ['nothing of others between', {}],
  ['hooks between', { options: { extensions: [quiet] } }],
  ['guardrails between', { options: { guardrails: [watchful] } }],
  ['conditions between', { options: { stopWhen: () => false, prepareStep: () => undefined, ephemeral: () => [] } }],
  ['a driver that reads', { run: { mode: 'synchronized' } }],
  [
    'all of it',
    {
      options: { extensions: [quiet], guardrails: [watchful], stopWhen: () => false, prepareStep: () => undefined },
      run: { mode: 'synchronized' },
    },
  ],
  ['an end by a condition', { options: { stopWhen: ({ step }) => step === 2, extensions: [quiet] }, run: { mode: 'synchronized' } }],
  ['an end by a limit', { options: { extensions: [quiet] }, run: { mode: 'synchronized', limits: { maxSteps: 2 } } }],
]

describe('a crash at every commit', () => {
  it.each(scenarios)(
    'A171, A172: with %s the transcript equals that of an undisturbed run, and once calls run at most once',
    async (_what, scenario) => {
      const calm = await live(scenario)
      expect(calm.open).toBeUndefined()
      for (const [life, commits] of calm.commits.entries()) {
        for (let commit = 1; commit <= commits; commit++) {
          for (const when of ['before', 'after'] as const) {
            const name = `life ${life}, ${when} commit ${commit}`
            const stormy = await live(scenario, { life, commit, when })
            expect(stormy.dead, name).toBe(true)
            expect(stormy.open, name).toBeUndefined()
            expect(endOf(stormy.events), name).toEqual(endOf(calm.events))
            const told = new Set(
              stormy.messages.flatMap((message) =>
                message.role === 'tool-result' && message.status === 'unknown' ? message.toolCallId : [],
              ),
            )
            const known = (shape: readonly string[]) => shape.filter((line) => !told.has(line.split(' ')[0] ?? ''))
            expect(known(shapeOf(stormy.messages)), name).toEqual(known(shapeOf(calm.messages)))
            for (const id of told) expect(['o', 's', 'q', 'x'], name).toContain(id)
            for (const [id, given] of stormy.inputs) {
              expect(new Set(given), `${name}: ${id}`).toEqual(new Set(calm.inputs.get(id)))
              if (!['p', 'i'].includes(id)) expect(given, `${name}: ${id}`).toHaveLength(1)
            }
          }
        }
      }
    },
  )
})
