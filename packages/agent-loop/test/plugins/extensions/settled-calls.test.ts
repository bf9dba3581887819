import { describe, expect, it } from 'vitest'
import { askRequest } from '../../../src/plugins/extensions/ask-hooks.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo, gated, remote, until } from '../../support/tools.ts'
import { guardrail } from '../guardrails/support.ts'
import { bench, extension, untyped } from './support.ts'

const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) })

describe('onToolSettled', () => {
  it('A149: sees every outcome as it is stored, after everything that could change it', async () => {
    const talk = conversation()
    const seen: string[] = []
    const look = extension('look', { onToolSettled: ({ call, status }) => void seen.push(`${call.toolCallId} ${status}`) })
    const patch = extension('patch', {
      onToolResult: ({ call }) => (call.toolName === 'patched' ? { status: 'denied', output: 'no' } : undefined),
    })
    const guard = guardrail('guard', { beforeCall: ({ toolName }) => (toolName === 'blocked' ? { action: 'block' } : undefined) })
    const tools = ['good', 'patched', 'blocked'].map((name) => echo(name).tool)
    const agent = agentOf([calls('good', 'patched', 'blocked', 'none'), { text: 'ok' }], {
      tools,
      extensions: [look, patch],
      guardrails: [guard],
    })
    await talk.play(agent, 'go')
    expect(seen.toSorted()).toEqual(['call-blocked denied', 'call-good result', 'call-none error', 'call-patched denied'])
  })

  it('A149: sees calls that a stop has cancelled', async () => {
    const talk = conversation()
    const seen: string[] = []
    const slow = gated('slow', { effect: 'pure' })
    const look = extension('look', { onToolSettled: ({ call, status }) => void seen.push(`${call.toolCallId} ${status}`) })
    const run = talk.run(
      agentOf([calls('slow', 'there')], { tools: [slow.tool, remote('there')], extensions: [look], abortGraceMs: 10 }),
      'go',
    )
    await until(() => slow.started.length === 1)
    run.abort()
    await talk.clock.advance(10)
    await run.result()
    expect(seen.toSorted()).toEqual(['call-slow cancelled', 'call-there cancelled'])
  })

  it('A171: what it writes into its record is stored in the commit of the outcome, no earlier and no later', async () => {
    const disagreements: unknown[] = []
    let outcomes = 0
    const keep = extension('keep', { onToolSettled: ({ call }, { state }) => void (state[call.toolCallId] = true) })
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        async commit(records, expect) {
          const outcome = await journal.commit(records, expect)
          const open = (await talk.memory.load()).open
          if (!open) return outcome
          const settled = open.calls.filter((row) => row.outcome).map((row) => row.toolCallId)
          const kept = Object.keys((open.extensionState?.['keep'] ?? {}) as object)
          outcomes += settled.length
          // Once the step has ended, the journal returns none of its calls.
          if (open.calls.length > 0 && settled.join() !== kept.join()) disagreements.push([settled, kept])
          return outcome
        },
      }),
    })
    const tools = [echo('a').tool, echo('b').tool, remote('there')]
    const { result } = await talk.play(agentOf([calls('a', 'b', 'there')], { tools, extensions: [keep] }), 'go')
    expect(result.status).toBe('awaiting-tools')
    expect(outcomes).toBeGreaterThan(2)
    expect(disagreements).toEqual([])
  })
})

describe('shownTools', () => {
  it('A142: removes tools from a request without refusing a call of them', async () => {
    const talk = conversation()
    const seen: string[] = []
    const hide = extension('hide', {
      beforeModelCall: () => ({ shownTools: ['a'] }),
      onToolCall: ({ call }) => (
        seen.push(call.toolName),
        call.toolName === 'c' ? { action: 'reject-and-continue', message: 'not c' } : undefined
      ),
    })
    const tools = ['a', 'b', 'c'].map((name) => echo(name).tool)
    const agent = agentOf([calls('b', 'c'), { text: 'ok' }], { tools, extensions: [hide] })
    const { result } = await talk.play(agent, 'go')
    expect(agent.model.calls.map((request) => request.tools?.map(({ name }) => name))).toEqual([['a'], ['a']])
    expect(seen).toEqual(['b', 'c'])
    expect(resultsOf(agent.model.calls[1])).toHaveLength(2)
    expect(result.messages.flatMap((message) => (message.role === 'tool-result' ? message.status : []))).toEqual(['result', 'denied'])
  })

  it('A142: later hooks see what is left', async () => {
    const seen: unknown[] = []
    const { hooks } = bench([
      extension('a', { beforeModelCall: () => ({ shownTools: ['read', 'write'], activeTools: ['write', 'erase'] }) }),
      extension('b', { beforeModelCall: ({ tools }) => void seen.push(tools) }),
    ])
    await askRequest(hooks, { instructions: '', messages: [], tools: ['read', 'write', 'erase'], runtimeParams: {}, attempt: 1 })
    expect(seen).toEqual([['write']])
  })

  it('A143: a value that is not a list of names is refused as an error of the hook', async () => {
    const { hooks, failures } = bench([extension('a', untyped({ beforeModelCall: () => ({ shownTools: 'read' }) }))])
    expect(await askRequest(hooks, { instructions: '', messages: [], tools: [], runtimeParams: {}, attempt: 1 })).toEqual({})
    expect(failures).toMatchObject([{ hook: 'beforeModelCall' }])
  })
})

describe('a turn that is closed', () => {
  it('A149: begins and ends its step for the hooks too, with earlier settled calls in their record', async () => {
    const talk = conversation()
    const seen: string[] = []
    const watch = extension('watch', {
      onTurnStart: ({ turn, resumed }, { state }) => void seen.push(`start ${turn} ${resumed} ${Object.keys(state).join()}`),
      onToolSettled: ({ call, status }, { state }) => void (seen.push(`${call.toolName} ${status}`), (state[call.toolName] = true)),
      onStepEnd: ({ step, toolCalls }) => void seen.push(`step ${step} ${toolCalls.map(({ toolName }) => toolName).join()}`),
      onAgentEnd: ({ status }) => void seen.push(`end ${status}`),
    })
    const agent = agentOf([calls('there', 'a'), { text: 'new' }], { tools: [echo('a').tool, remote('there')], extensions: [watch] })
    await talk.play(agent, 'go')
    expect(seen.splice(0)).toEqual(['start 1 false ', 'a result', 'end awaiting-tools'])
    await talk.play(agent, 'something else', { onInputWhilePending: 'cancel' })
    expect(seen.slice(0, 4)).toEqual(['start 1 true a', 'there cancelled', 'step 1 there,a', 'end aborted'])
  })
})
