import { checkEvents } from '@bowline/testing'
import { SessionError } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { ProcessDied, type Fault, type FaultPoint } from './dying-store.ts'
import { runScenario, type Outcome } from './crash-scenario.ts'

const undisturbed = await runScenario()
const stopped = await runScenario(undefined, true)

/** Returns every write of an undisturbed scenario with every fault that applies to it. */
function pointsOf({ writes }: Outcome, ...faults: Fault[]): (FaultPoint & { readonly name: string })[] {
  return writes.flatMap(({ name, isClaim }, index) =>
    faults.filter((fault) => !isClaim || fault === 'dies-after').map((fault) => ({ write: index + 1, fault, name })),
  )
}

function checkInvariants({ log, runs, children, reminders, effects, usage, left }: Outcome): void {
  expect(checkEvents(log)).toEqual([])
  expect(runs.map((run) => run.status)).toEqual(runs.map(() => 'completed'))
  expect(children.map((child) => [child.parent?.path.join(), child.status]).sort()).toEqual(
    ['one', 'scout', 'two'].map((name) => [name, 'completed']),
  )
  expect(new Set(effects).size).toBe(1)
  // One reminder, about both.
  expect(reminders).toHaveLength(1)
  for (const { parent } of children) if (parent?.taskId !== undefined) expect(reminders[0]).toContain(parent.taskId)
  expect(log.filter((event) => event.type === 'user-message')).toHaveLength(1)
  checkTold(log, children)
  expect(left).toBe(0)
  const spent = children.reduce((sum, child) => sum + (child.usage.inputTokens ?? 0), 0)
  expect(usage.children.usage.inputTokens).toBe(spent)
}

describe('a run with children, and a fault at each of its writes', () => {
  it('S132, S136: without a fault each child works once, and the background children are reported together', () => {
    expect(undisturbed.writes.length).toBeGreaterThan(15)
    expect(undisturbed.faults).toEqual([])
    checkInvariants(undisturbed)
  })

  it.each(pointsOf(undisturbed, 'dies-before', 'dies-after'))(
    'S128, S132, S135, S136, S140, S146: $fault write $write ($name), and another process goes on',
    async (point) => {
      const outcome = await runScenario(point)
      expect(outcome.processes).toBe(2)
      checkInvariants(outcome)
      expect(outcome.faults.filter((fault) => !(fault instanceof ProcessDied))).toEqual([])
    },
  )

  it.each(pointsOf(undisturbed, 'fails-before', 'fails-after'))(
    'S35, S135: $fault write $write ($name), and the same process commits the same batch again',
    async (point) => {
      const outcome = await runScenario(point)
      expect(outcome.processes).toBe(1)
      checkInvariants(outcome)
      expect(outcome.faults.filter((fault) => !(fault instanceof SessionError))).toEqual([])
    },
  )
})

/** Checks that the log of the parent covers each child once, from its start to its end. */
function checkTold(log: Outcome['log'], children: Outcome['children']): void {
  for (const { id } of children) {
    const told = log.filter((event) => 'childRunId' in event && event.childRunId === id)
    expect(told.filter(({ type }) => type === 'child-start')).toHaveLength(1)
    expect(told.filter(({ type }) => type === 'child-end')).toHaveLength(1)
    const steps = told.flatMap((event) => (event.type === 'child-update' ? event.step : []))
    expect(new Set(steps).size).toBe(steps.length)
  }
}

function checkStopped({ log, runs, children, reminders }: Outcome): void {
  expect(checkEvents(log)).toEqual([])
  expect(runs[0]).toMatchObject({ status: 'aborted' })
  checkTold(log, children)
  const statuses = new Map(children.map((child) => [child.parent?.path.join(), child.status]))
  expect(['aborted', undefined]).toContain(statuses.get('scout'))
  // Only background children that had finished before the stop are reported.
  const finished = children.filter(({ parent, status, stop }) => parent?.taskId !== undefined && status === 'completed' && !stop)
  for (const child of children) {
    const { taskId = 'none' } = child.parent ?? {}
    expect(reminders.filter((text) => text.includes(taskId))).toHaveLength(finished.includes(child) ? 1 : 0)
  }
}

describe('a stopped run with children, and a fault at each of the writes', () => {
  it('S98: without a fault all runs end', () => {
    expect(stopped.faults).toEqual([])
    checkStopped(stopped)
  })

  it.each(pointsOf(stopped, 'dies-before', 'dies-after'))(
    'S101, S107, S108, S138: $fault write $write ($name), and another process goes on',
    async (point) => {
      const outcome = await runScenario(point, true)
      checkStopped(outcome)
      expect(outcome.faults.filter((fault) => !(fault instanceof ProcessDied))).toEqual([])
    },
  )
})
