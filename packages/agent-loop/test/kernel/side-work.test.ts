import { describe, expect, it } from 'vitest'
import { defineTool, phaseOf } from '../../src/index.ts'
import type { SideWork } from '../../src/kernel/call.ts'
import { compile } from '../../src/kernel/plugin.ts'
import type { Plugin } from '../../src/kernel/plugin.ts'
import { startRun } from '../../src/run/agent-run.ts'
import { definitionOf } from '../../src/run/definition.ts'
import { agentOf, conversation } from '../support/conversation.ts'

/** Plays a turn with one tool that answers only when its signal is aborted. A plug-in does this work beside the call, once. */
async function playBeside(start: SideWork['start']) {
  const hangs = defineTool({
    name: 'hangs',
    description: '',
    inputSchema: {},
    effect: 'pure',
    execute: (_input, { abortSignal }) => new Promise<string>((resolve) => abortSignal.addEventListener('abort', () => resolve('stopped'))),
  })
  let begun = false
  const plugin: Plugin = {
    name: 'beside',
    hooks: { beside: (_turn, calls) => calls.flatMap((call) => (begun ? [] : ((begun = true), [{ call, start }]))) },
  }
  const talk = conversation({ unfinished: true })
  const definition = definitionOf(agentOf([{ toolCalls: [{ id: 'x', name: 'hangs', input: {} }] }], { tools: [hangs] }))!
  const plugins = compile([...definition.pluginList(), plugin])
  const run = startRun({ ...definition, plugins: () => plugins }, 'go', { journal: talk.journal, clock: talk.clock, ids: talk.ids })
  const result = await run.result()
  return { result, begun, phase: phaseOf(talk.journal), timers: talk.clock.pendingTimers }
}

describe('work of a plug-in that runs beside a call', () => {
  it.each<[string, SideWork['start']]>([
    ['rejects', () => Promise.reject(new Error('the work broke'))],
    [
      'throws',
      () => {
        throw new Error('the work broke')
      },
    ],
    [
      'resolves to what throws',
      () =>
        Promise.resolve(() => {
          throw new Error('the work broke')
        }),
    ],
    ['resolves to what rejects', () => Promise.resolve(() => Promise.reject(new Error('the work broke')))],
  ])('fails the turn if it %s, and leaves no unhandled rejection', async (_how, start) => {
    const { result, begun, phase, timers } = await playBeside(start)
    expect(begun).toBe(true)
    expect(result).toMatchObject({ status: 'error', error: { message: 'the work broke' } })
    expect({ phase, timers }).toEqual({ phase: 'idle', timers: 0 })
  })
})
