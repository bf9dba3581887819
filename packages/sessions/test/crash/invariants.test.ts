import {
  type AcknowledgedInput,
  type CrashEnd,
  type CrashScenario,
  crashScenarios,
  exploreCrashes,
  type SessionEnd,
  standardInvariants,
} from '@bowline/testing/crashes'
import type { CommitMark } from '@bowline/agent-loop'
import type { StoredEvent } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'

/** Ends of the scenario with two tools without a crash. */
const good = await endOf('tools')
const waiting = await endOf('remote', async () => undefined)

async function endOf(name: keyof typeof crashScenarios, wait?: () => Promise<void>): Promise<CrashEnd> {
  const ends: CrashEnd[] = []
  const keep = { name: 'kept', check: (end: CrashEnd) => (ends.push(end), []) }
  const scenario: CrashScenario = crashScenarios[name]
  const drive: CrashScenario['drive'] = async (runtime) => {
    await (await runtime.session('room:1').send('go')).result()
    await wait?.()
  }
  await exploreCrashes({ ...scenario, invariants: [keep], ...(wait ? { drive } : {}) }, { modes: [] })
  const [end] = ends
  if (!end) throw new TypeError('the scenario did not end')
  return end
}

function change(end: CrashEnd, changed: (session: SessionEnd) => Partial<SessionEnd>): CrashEnd {
  return { ...end, sessions: end.sessions.map((session) => ({ ...session, ...changed(session) })) }
}

function compactedTwice(end: CrashEnd): CrashEnd {
  const made = { type: 'compaction-end', at: 1, seq: 1, runId: 'run_1', turn: 1, compactionId: 'c', outcome: 'done' } as const
  return change(changeRuns(end, { kind: 'compaction' }), ({ log }) => ({ log: [...log, made, made] }))
}

function changeCalls(end: CrashEnd, changed: object): CrashEnd {
  return change(end, ({ calls }) => ({ calls: calls.map((call) => ({ ...call, ...changed })) }))
}

function changeRuns(end: CrashEnd, changed: object): CrashEnd {
  return change(end, ({ runs }) => ({ runs: runs.map((run) => ({ ...run, ...changed })) }))
}

function withEffects(end: CrashEnd, changed: (effects: CrashEnd['world']['effects']) => CrashEnd['world']['effects']): CrashEnd {
  return { ...end, world: { ...end.world, effects: changed(end.world.effects) } }
}

function withAnswers(end: CrashEnd, ...answers: readonly (readonly [string, number])[]): CrashEnd {
  return { ...end, acknowledged: { ...end.acknowledged, answers: new Map(answers) } }
}

function withInputs(end: CrashEnd, ...inputs: readonly Partial<AcknowledgedInput>[]): CrashEnd {
  const given = { method: 'steer', session: 'room:1', content: 'turn left', isNew: true } as const
  return { ...end, acknowledged: { ...end.acknowledged, inputs: inputs.map((input) => ({ ...given, ...input })) } }
}

function withSteering(end: CrashEnd): CrashEnd {
  const row = {
    id: 'steer:left',
    kind: 'steer',
    at: 1,
    body: { inputId: 'left', runId: 'run_1', input: { role: 'user', content: 'turn left' } },
  } as const
  return change(end, () => ({ inbox: [row] }))
}

const commitsName = 'each event belongs to a commit, and each claim to one process'

function changeMarks(end: CrashEnd, changed: (mark: CommitMark, seq: number) => CommitMark | undefined): CrashEnd {
  const marked = ({ commit, ...event }: StoredEvent): StoredEvent => {
    const mark = commit && changed(commit, event.seq)
    return { ...event, ...(mark && { commit: mark }) }
  }
  return change(end, ({ log }) => ({ log: log.map(marked) }))
}

function problemsOf(name: string, end: CrashEnd): readonly string[] {
  const invariant = standardInvariants.find((each) => each.name === name)
  if (!invariant) throw new TypeError(`there is no invariant ${name}`)
  return invariant.check(end)
}

const broken: readonly { readonly name: string; readonly end: CrashEnd; readonly says: string }[] = [
  { name: 'at rest no run is running or due', end: changeRuns(good, { status: 'running' }), says: 'run_1 is running' },
  { name: 'at rest no run is running or due', end: changeRuns(good, { status: 'queued' }), says: 'run_1 is queued' },
  {
    name: 'each accepted input has a run that has ended or waits',
    end: change(good, () => ({ runs: [] })),
    says: 'the run run_1 was accepted, but is not stored',
  },
  {
    name: 'each accepted input has a run that has ended or waits',
    end: changeRuns(good, { status: 'running' }),
    says: 'the run run_1 was accepted, but is still running',
  },
  {
    name: 'each accepted input is stored, and is accepted once',
    end: withInputs(good, { inputId: 'left' }),
    says: 'room:1: the input (steer left) was accepted, but is not stored',
  },
  {
    name: 'each accepted input is stored, and is accepted once',
    end: withInputs(withSteering(waiting), { inputId: 'left' }, { inputId: 'left' }),
    says: 'the input (steer left) was accepted as new 2 times, expected 1',
  },
  {
    name: 'each accepted input is stored, and is accepted once',
    end: withInputs(withSteering(waiting), {}, {}),
    says: 'was accepted 2 times, but is stored 1 times',
  },
  {
    name: 'each accepted input is stored, and is accepted once',
    end: withInputs(withSteering(waiting), { method: 'overlay' }),
    says: 'the input (overlay "turn left") was accepted 1 times, but is stored 0 times',
  },
  {
    name: 'each accepted input is stored, and is accepted once',
    end: withInputs(good, { method: 'overlay', inputId: 'brief', turns: 2 }),
    says: 'the overlay brief is for 2 turns, but 0 turns have used it and 0 are left',
  },
  {
    name: 'a session without an open run has no unread inbox rows',
    end: withSteering(good),
    says: 'room:1: the inbox row steer:left is unread, but no run is open',
  },
  {
    name: 'an accepted answer is kept until it is used',
    end: withAnswers(waiting, ['call-place', 1]),
    says: 'the answer to call-place was accepted, but the call still waits and the inbox has no such answer',
  },
  {
    name: 'an accepted answer is kept until it is used',
    end: withAnswers(good, ['call-place', 2]),
    says: 'the answer to call-place was accepted as new 2 times, expected 1',
  },
  { name: 'a process that lost a run writes nothing more for it', end: { ...good, staleWrites: ['late'] }, says: 'late' },
  {
    name: 'a call with effect once takes effect at most once',
    end: withEffects(good, (all) => [...all, ...all]),
    says: 'pay (run_1/1/call-pay) took effect 2 times, expected at most 1',
  },
  {
    name: 'each call has one idempotency key of its own',
    end: withEffects(good, (all) => all.map((each) => ({ ...each, idempotencyKey: 'other' }))),
    says: 'ran with the idempotency key other, but its ledger record has',
  },
  {
    name: 'each call has one idempotency key of its own',
    end: changeCalls(good, { idempotencyKey: 'same' }),
    says: '2 calls have the idempotency key same, expected 1',
  },
  {
    name: 'each effect has a recorded outcome, or its outcome is reported as unknown',
    end: changeCalls(good, { status: 'cancelled' }),
    says: 'took effect, but its call is recorded as cancelled',
  },
  {
    name: 'each effect has a recorded outcome, or its outcome is reported as unknown',
    end: change(good, () => ({ calls: [] })),
    says: 'took effect, but the ledger has no such call',
  },
  {
    name: 'a call has one outcome',
    end: changeCalls(good, { state: 'started' }),
    says: 'is started and has 1 tool-execution-end events, expected 0',
  },
  {
    name: 'a call has one outcome',
    end: change(good, ({ messages }) => ({ messages: [...messages, ...messages] })),
    says: 'has 2 results in the transcript, expected at most 1',
  },
  {
    name: 'the transcript is valid',
    end: change(good, ({ messages }) => ({ messages: messages.filter((message) => message.role !== 'tool-result') })),
    says: 'has no result before this message',
  },
  {
    name: 'the events of a log are numbered without gaps',
    end: change(good, ({ log }) => ({ log: log.filter((event) => event.seq !== 3) })),
    says: 'turn-start has seq 4, expected 3',
  },
  {
    name: 'the events of a log are numbered without gaps',
    end: change(good, ({ log }) => ({ log: log.slice(0, -1) })),
    says: 'after the last event',
  },
  { name: commitsName, end: changeMarks(good, () => undefined), says: 'events are in no commit' },
  { name: commitsName, end: changeMarks(good, () => ({})), says: 'the commit from seq 1 has no owner' },
  {
    name: commitsName,
    end: changeMarks(good, (mark, seq) => (mark.epoch === undefined ? mark : { ...mark, owner: `p${seq}` })),
    says: 'but epoch 1 of the run run_1 belongs to p3',
  },
  {
    name: commitsName,
    end: changeMarks(good, (mark, seq) => (mark.epoch === undefined ? mark : { ...mark, epoch: 100 - seq })),
    says: 'of the run run_1, but an earlier commit has epoch 97',
  },
  {
    name: 'a turn ends once',
    end: change(good, ({ log }) => ({ log: log.filter((event) => event.type !== 'turn-end') })),
    says: 'the run run_1 is completed and has 0 final turn-end events, expected 1',
  },
  {
    name: 'a turn ends once',
    end: changeRuns(good, { status: 'awaiting-tools' }),
    says: 'the run run_1 is awaiting-tools and has 1 final turn-end events, expected 0',
  },
  {
    name: 'a compaction run compacts once',
    end: compactedTwice(good),
    says: 'the run run_1 has 2 compaction-end events with outcome done, expected at most 1',
  },
  {
    name: 'the log follows the event grammar',
    end: change(good, ({ log }) => ({ log: log.filter((event) => event.type !== 'step-end') })),
    says: 'room:1',
  },
  {
    name: 'a session without an open run has settled',
    end: change(good, ({ log }) => ({ log: log.filter((event) => event.type !== 'settled') })),
    says: 'no run is open, but the last run event is turn-end, expected settled',
  },
  {
    name: 'the view folded from the log has the messages of the transcript',
    end: change(good, ({ messages }) => ({ messages: messages.slice(1) })),
    says: 'the log gives 5 messages and the transcript has 4, with the first difference at index 0',
  },
]

describe('standard invariants', () => {
  it.each(standardInvariants)('S179: hold for a run without a crash, and for a waiting run: $name', ({ check }) => {
    expect(check(good)).toEqual([])
    expect(check(waiting)).toEqual([])
  })

  it.each(broken)('S179: report the problem: $name ($says)', ({ name, end, says }) => {
    expect(problemsOf(name, end).join('\n')).toContain(says)
  })

  it('S179: each invariant has a case in which it fails', () => {
    expect(standardInvariants.map(({ name }) => name)).toEqual([...new Set(broken.map(({ name }) => name))])
  })

  it('S79: an effect of a call is accounted for if the caller is asked about its outcome', () => {
    const asked = { toolCallId: 'call-pay', toolName: 'pay', input: {}, path: [], agent: [], unknown: true }
    const index = { toolCallId: 'call-index', toolName: 'index', input: {}, path: [], agent: [], unknown: true }
    const open = changeRuns(changeCalls(good, { state: 'started', status: undefined }), {
      status: 'needs-recovery',
      pendingToolCalls: [asked, index],
    })
    expect(problemsOf('each effect has a recorded outcome, or its outcome is reported as unknown', open)).toEqual([])
    const named = changeRuns(open, { pendingToolCalls: [index] })
    expect(problemsOf('each effect has a recorded outcome, or its outcome is reported as unknown', named)).toEqual([
      'pay (run_1/1/call-pay) took effect, but its call is recorded as started',
    ])
  })
})
