import { crashScenarios, exploreCrashes, standardInvariants, type AcknowledgedInput, type CrashEnd, type CrashScenario, type SessionEnd } from '@bowline/sessions/testing'
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
  const row = { id: 'steer:left', kind: 'steer', at: 1, body: { inputId: 'left', runId: 'run_1', input: { role: 'user', content: 'turn left' } } } as const
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
  { name: 'no run is running at rest', end: changeRuns(good, { status: 'running' }), says: 'run_1 is running' },
  { name: 'no run is running at rest', end: changeRuns(good, { status: 'queued' }), says: 'run_1 is queued' },
  { name: 'every accepted input has a run that ended or waits', end: change(good, () => ({ runs: [] })), says: 'run_1 was accepted and is not there' },
  { name: 'every accepted input has a run that ended or waits', end: changeRuns(good, { status: 'running' }), says: 'run_1 neither ended nor waits' },
  { name: 'every accepted input is found again, and accepted once', end: withInputs(good, { inputId: 'left' }), says: 'steer left was accepted and is gone' },
  { name: 'every accepted input is found again, and accepted once', end: withInputs(withSteering(waiting), { inputId: 'left' }, { inputId: 'left' }), says: 'steer left was accepted as new 2 times' },
  { name: 'every accepted input is found again, and accepted once', end: withInputs(withSteering(waiting), {}, {}), says: 'was accepted 2 times and is found 1 times' },
  { name: 'every accepted input is found again, and accepted once', end: withInputs(withSteering(waiting), { method: 'overlay' }), says: 'overlay "turn left" was accepted 1 times and is found 0 times' },
  { name: 'every accepted input is found again, and accepted once', end: withInputs(good, { method: 'overlay', inputId: 'brief', turns: 2 }), says: 'overlay brief is for 2 turns: 0 have seen it, and 0 are left' },
  { name: 'nothing that a run should take is left in a session without one', end: withSteering(good), says: 'room:1: steer:left is left' },
  { name: 'an accepted answer is kept until it is used', end: withAnswers(waiting, ['call-place', 1]), says: 'the answer to call-place was accepted and is gone' },
  { name: 'an accepted answer is kept until it is used', end: withAnswers(good, ['call-place', 2]), says: 'call-place was accepted 2 times' },
  { name: 'an owner that lost its run writes nothing more', end: { ...good, staleWrites: ['late'] }, says: 'late' },
  { name: 'a tool with the effect once takes effect at most once', end: withEffects(good, (all) => [...all, ...all]), says: 'pay (run_1/1/call-pay) took effect 2 times' },
  { name: 'a call has one idempotency key, and no other call has it', end: withEffects(good, (all) => all.map((each) => ({ ...each, idempotencyKey: 'other' }))), says: 'was given the key other' },
  { name: 'a call has one idempotency key, and no other call has it', end: changeCalls(good, { idempotencyKey: 'same' }), says: '2 calls have the key same' },
  { name: 'an effect has an outcome, or somebody is told that nobody knows it', end: changeCalls(good, { status: 'cancelled' }), says: 'took effect, and its call is cancelled' },
  { name: 'an effect has an outcome, or somebody is told that nobody knows it', end: change(good, () => ({ calls: [] })), says: 'the ledger does not know pay' },
  { name: 'a call has one outcome', end: changeCalls(good, { state: 'started' }), says: 'is started and has 1 ends in the log' },
  { name: 'a call has one outcome', end: change(good, ({ messages }) => ({ messages: [...messages, ...messages] })), says: 'has 2 results in the transcript' },
  { name: 'the transcript is valid', end: change(good, ({ messages }) => ({ messages: messages.filter((message) => message.role !== 'tool-result') })), says: 'follows the open call' },
  { name: 'the log is numbered without gaps', end: change(good, ({ log }) => ({ log: log.filter((event) => event.seq !== 3) })), says: 'turn-start has the number 4' },
  { name: 'the log is numbered without gaps', end: change(good, ({ log }) => ({ log: log.slice(0, -1) })), says: 'the log ends before' },
  { name: commitsName, end: changeMarks(good, () => undefined), says: 'events are in no commit' },
  { name: commitsName, end: changeMarks(good, () => ({})), says: 'the commit at 1 has no owner' },
  { name: commitsName, end: changeMarks(good, (mark, seq) => (mark.epoch === undefined ? mark : { ...mark, owner: `p${seq}` })), says: 'epoch 1 of run_1 belongs to p3' },
  { name: commitsName, end: changeMarks(good, (mark, seq) => (mark.epoch === undefined ? mark : { ...mark, epoch: 100 - seq })), says: 'of run_1, after one of 97' },
  { name: 'a turn ends once', end: change(good, ({ log }) => ({ log: log.filter((event) => event.type !== 'turn-end') })), says: 'run_1 is completed and has 0 ends' },
  { name: 'a turn ends once', end: changeRuns(good, { status: 'awaiting-tools' }), says: 'run_1 is awaiting-tools and has 1 ends' },
  { name: 'a compaction is made once', end: compactedTwice(good), says: 'run_1 made 2 compactions' },
  { name: 'the log has the grammar of events', end: change(good, ({ log }) => ({ log: log.filter((event) => event.type !== 'step-end') })), says: 'room:1' },
  { name: 'a session without an open run has settled', end: change(good, ({ log }) => ({ log: log.filter((event) => event.type !== 'settled') })), says: 'the last event of a run is turn-end' },
  { name: 'the log folds to the transcript', end: change(good, ({ messages }) => ({ messages: messages.slice(1) })), says: '5 messages of the log against 4' },
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
    const open = changeRuns(changeCalls(good, { state: 'started', status: undefined }), { status: 'needs-recovery', pendingToolCalls: [asked, index] })
    expect(problemsOf('an effect has an outcome, or somebody is told that nobody knows it', open)).toEqual([])
    const named = changeRuns(open, { pendingToolCalls: [index] })
    expect(problemsOf('an effect has an outcome, or somebody is told that nobody knows it', named)).toEqual(['pay (run_1/1/call-pay) took effect, and its call is started'])
  })
})
