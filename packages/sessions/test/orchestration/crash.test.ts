import { describe, expect, it } from 'vitest'
import { runCrash, scenarios, type Outcome } from './crash-scenario.ts'

const undisturbed = {
  whole: await runCrash(scenarios.whole),
  'ends-with-calls': await runCrash(scenarios['ends-with-calls']),
  stopped: await runCrash(scenarios.stopped),
  pure: await runCrash(scenarios.pure),
  'by-message': await runCrash(scenarios['by-message']),
}
const points = (Object.keys(scenarios) as (keyof typeof scenarios)[]).flatMap((scenario) =>
  // Only deaths after writes: the state before a write is the state after the previous one.
  undisturbed[scenario].writes.map((name, index) => ({ scenario, name, write: index + 1 })),
)

/** Returns each settled call once, in the order of the requests. Denied and cancelled calls are no uses. */
function usesOf({ ledger }: Outcome): readonly string[] {
  return ledger.flatMap(({ status, toolCallId }) => (status === 'denied' || status === 'cancelled' ? [] : [toolCallId]))
}

describe('a turn with calls of every kind', () => {
  it('O45, O46: undisturbed, it records the calls of the ledger without refused and cancelled ones, and reports each step', () => {
    const { whole, stopped } = undisturbed
    expect(usesOf(whole)).toEqual(['call-0-pay', 'call-0-index', 'call-1-where', 'call-1-fail', 'call-2-fail'])
    expect(whole.ledger.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'pay result',
      'index result',
      'where result',
      'wipe denied',
      'fail error',
      'fail error',
    ])
    expect(whole.state).toMatchObject({ activeStep: 'ask', toolHistory: usesOf(whole).map((key) => ({ key })) })
    expect(whole.steps).toEqual(['gather 0', 'gather 1', 'gather 2', 'ask 0'])
    expect(new Set(whole.writes)).toEqual(new Set(['commit', 'claim', 'compareAndSet', 'touch']))
    expect(usesOf(undisturbed['by-message'])).toEqual(['call-0-look', 'call-0-pay', 'call-1-read', 'call-1-pay'])
    expect(stopped.ledger.map(({ name, status }) => `${name} ${status}`)).toEqual(['where cancelled', 'pay result', 'fail error'])
    expect(stopped.state?.recentlyUsedTools).toEqual(['fail', 'pay'])
  })

  it.each(points)(
    'O45: $scenario: a crash after write $write ($name) leaves each settled call recorded once, in order',
    async ({ scenario, ...point }) => {
      const outcome = await runCrash(scenarios[scenario], point)
      const before = undisturbed[scenario]
      expect([outcome.processes, outcome.runs]).toEqual([2, before.runs])
      expect(outcome.state?.toolHistory.map(({ key }) => key) ?? []).toEqual(usesOf(outcome))
      expect(usesOf(outcome)).toEqual(usesOf(before))
      expect(outcome.state?.activeStep).toBe(before.state?.activeStep)
    },
  )

  it.each(['ends-with-calls', 'stopped'] as const)(
    'O45: %s: a second crash of the resuming process, at the end of the turn, leaves the same record',
    async (scenario) => {
      const before = undisturbed[scenario]
      const first = before.writes.map((_name, index) => index + 1).slice(-6)
      for (const write of first) {
        for (let next = 1; next <= 6; next++) {
          const outcome = await runCrash(scenarios[scenario], { write }, { write: next })
          const uses = outcome.state?.toolHistory.map(({ key }) => key)
          expect([write, next, outcome.runs, uses]).toEqual([write, next, before.runs, usesOf(outcome)])
        }
      }
    },
  )
})
