import { describe, expect, it } from 'vitest'
import { checkEvents } from '@bowline/testing'
import { isDelta } from '../../src/events/index.ts'
import type { AgentEvent } from '../../src/index.ts'
import { drawnLog } from '../support/drawn-log.ts'

const start = 'user-message turn-start step-start message-start'
const closed = 'save-point settled'
const call = 'tool-execution-start(x) tool-execution-end(x)'
const last = `step-start message-start · message-end step-end turn-end(completed) ${closed}`

/** The drawings of the specification, and the cases of its table. */
const drawings: Readonly<Record<string, string>> = {
  'a plain answer': `${start} · message-end step-end turn-end(completed) ${closed}`,
  'one tool': `${start} message-end(x) ${call} step-end ${last}`,
  'parallel tools': `${start} message-end(x,y) tool-execution-start(x) tool-execution-start(y) tool-execution-end(y) tool-execution-end(x) step-end ${last}`,
  'a call that is not executed': `${start} message-end(x) tool-execution-end(x,no) step-end ${last}`,
  'a sequential call': `${start} message-end(x,y,z) ${call} tool-execution-start(y) tool-execution-end(y) tool-execution-start(z) tool-execution-end(z) step-end ${last}`,
  'steering while tools run': `${start} message-end(x) ${call} step-end runtime-input(step-end) runtime-input(step-end,notify) ${last}`,
  'steering on a final answer': `${start} message-end step-end runtime-input(step-end) ${last}`,
  'input of every window': `user-message turn-start runtime-input(turn-start) runtime-input(turn-start,overlay) step-start runtime-input(step-start) message-start message-end step-end runtime-input(step-end,overlay) ${last}`,
  'a turn that begins with inputs of the journal': `turn-start runtime-input(turn-start,notify) ${last}`,
  'input that is handled': `turn-start turn-end(completed) ${closed}`,
  'logged input that is handled': `user-message message-discarded(replaced) turn-start turn-end(completed) ${closed}`,
  'logged input that is replaced': `user-message message-discarded(replaced) user-message(again) turn-start ${last}`,
  'a follow-up': `user-message turn-start ${last} user-message turn-start ${last}`,
  'a retry': `${start} · message-discarded(retry) usage(discarded-attempt) retry-start message-start · message-end retry-end(true) step-end turn-end(completed) ${closed}`,
  'two retries': `${start} message-discarded(retry) retry-start message-start message-discarded(retry) usage(discarded-attempt) retry-end(false) retry-start message-start message-end retry-end(true) step-end turn-end(completed) ${closed}`,
  'retries used up': `${start} message-discarded(retry) retry-start message-start · message-end retry-end(false) step-end turn-end(error) ${closed}`,
  'a retry before tools': `${start} message-discarded(retry) retry-start message-start message-end(x) retry-end(true) ${call} step-end ${last}`,
  'a fallback': `${start} message-discarded(retry) usage(discarded-attempt) retry-start(fallback) message-start message-end retry-end(true) step-end turn-end(completed) ${closed}`,
  'an overflow': `${start} message-discarded(overflow) compaction-start(c) usage(compaction) compaction-end(c,done) retry-start(overflow) message-start message-end retry-end(true) step-end turn-end(completed) ${closed}`,
  'an overflow without help': `${start} message-discarded(overflow) compaction-start(c) compaction-end(c,failed) step-end turn-end(error) ${closed}`,
  'a rewind': `${start} message-end(x) ${call} step-end step-start message-start message-discarded(retry) message-discarded(rewind,result_x) message-discarded(rewind,msg_2) usage(discarded-attempt) retry-start message-start message-end retry-end(true) step-end turn-end(completed) ${closed}`,
  'a turn that is given up': `${start} message-discarded(failed) message-discarded(failed,msg_1) usage(discarded-attempt) step-end turn-end(error) ${closed}`,
  'a turn that is given up behind a retry': `${start} message-discarded(retry) retry-start message-start message-discarded(failed) message-discarded(failed,msg_1) retry-end(false) step-end turn-end(error) ${closed}`,
  'a remote tool': `${start} message-end(x,r) ${call} awaiting-tools(r) turn-end(awaiting-tools) save-point turn-start(answers) tool-execution-end(r,elsewhere) step-end ${last}`,
  'a remote tool beside a call that runs': `${start} message-end(x,r) tool-execution-start(x) awaiting-tools(r,continues) tool-execution-end(x) awaiting-tools(r) turn-end(awaiting-tools) save-point turn-start(answers) tool-execution-end(r,elsewhere) step-end ${last}`,
  'a part of the results': `${start} message-end(r,s) awaiting-tools(r,s) turn-end(awaiting-tools) save-point turn-start(answers) tool-execution-end(r,elsewhere) awaiting-tools(s) turn-end(awaiting-tools) save-point turn-start(answers) tool-execution-end(s,elsewhere) step-end ${last}`,
  'an approval': `${start} message-end(x) approval-requested(x) turn-end(awaiting-approval) save-point turn-start(answers) approval-resolved(x,approve) ${call} step-end ${last}`,
  'an approval in place': `${start} message-end(x) approval-requested(x) approval-resolved(x,approve) ${call} step-end ${last}`,
  'a denial': `${start} message-end(x) approval-requested(x) turn-end(awaiting-approval) save-point turn-start(answers) approval-resolved(x,deny) tool-execution-end(x,no) step-end ${last}`,
  'an approval beside a remote tool': `${start} message-end(x,r) approval-requested(x) awaiting-tools(r) turn-end(awaiting-tools) save-point turn-start(answers) tool-execution-end(r,elsewhere) turn-end(awaiting-approval) save-point turn-start(answers) approval-resolved(x,approve) ${call} step-end ${last}`,
  'an unknown outcome': `${start} message-end(x) tool-execution-start(x) turn-start(recovery) awaiting-tools(x) turn-end(needs-recovery) save-point turn-start(answers) tool-execution-end(x,elsewhere) step-end ${last}`,
  'a child': `${start} message-end(x) tool-execution-start(x) child-start(x) child-update(x,1) child-update(x,2) child-end(x,completed) usage(child) tool-execution-end(x) step-end ${last}`,
  'a child that waits': `${start} message-end(x) tool-execution-start(x) child-start(x) child-update(x,1) awaiting-tools(x/y) turn-end(awaiting-tools) save-point turn-start(answers) child-update(x,2) child-end(x,completed) usage(child) tool-execution-end(x) step-end ${last}`,
  'a child that waits after its answer, and goes on': `${start} message-end(x) tool-execution-start(x) child-start(x) child-update(x,1) child-update(x,1) awaiting-tools(x/y) turn-end(awaiting-tools) save-point child-update(x,1) turn-start(answers) child-update(x,2) child-end(x,completed) usage(child) tool-execution-end(x) step-end ${last}`,
  'a child that asks': `${start} message-end(x) tool-execution-start(x) child-start(x) approval-requested(x/y) turn-end(awaiting-approval) save-point turn-start(answers) approval-resolved(x/y,approve) child-end(x,completed) usage(child) tool-execution-end(x) step-end ${last}`,
  'a child in the background': `${start} message-end(x) tool-execution-start(x) child-start(x) tool-execution-end(x) step-end ${last}`,
  'a child of a call that was cut off, and one that cost the same in the next turn': `${start} message-end(x) tool-execution-start(x) child-start(x) child-end(x,completed) turn-start(recovery) tool-execution-end(x,no) step-end turn-end(error) ${closed} user-message turn-start step-start message-start message-end(y) tool-execution-start(y) child-start(y) child-end(y,completed) usage(child) tool-execution-end(y) step-end ${last}`,
  'a compaction between steps': `${start} message-end(x) ${call} step-end compaction-start(c) usage(compaction) compaction-end(c,done) ${last}`,
  'a compaction before the first step': `user-message turn-start compaction-start(c) compaction-end(c,failed) ${last}`,
  'a compaction behind the turn': `${start} message-end step-end turn-end(completed) save-point compaction-start(c) usage(compaction,outside) compaction-end(c,done) settled`,
  'a compaction of its own': `${start} message-end step-end turn-end(completed) ${closed} compaction-start(c) usage(compaction,outside) compaction-end(c,skipped) settled`,
  'an abort before the first call': `user-message turn-start turn-end(aborted) ${closed}`,
  'an abort at the step': `user-message turn-start step-start step-end turn-end(aborted) ${closed}`,
  'an abort in the model call': `${start} message-end(x,y) tool-execution-end(x,no) tool-execution-end(y,no) step-end turn-end(aborted) ${closed}`,
  'an abort in a retry wait': `${start} message-discarded(retry) retry-start retry-end(false) step-end turn-end(aborted) ${closed}`,
  'an abort in a compaction': `${start} message-discarded(overflow) compaction-start(c) compaction-end(c,cancelled) step-end turn-end(aborted) ${closed}`,
  'an abort of a suspended turn': `${start} message-end(r) awaiting-tools(r) turn-end(awaiting-tools) save-point turn-start(recovery) tool-execution-end(r,no) step-end turn-end(aborted) ${closed}`,
  'a crash in the model call': `${start} · turn-start(takeover) runtime-input(turn-start) message-discarded(crash) usage(discarded-attempt) message-start message-end step-end turn-end(completed) ${closed}`,
  'a crash in a tool': `${start} message-end(x) tool-execution-start(x) turn-start(takeover) ${call} step-end ${last}`,
  'a crash in a retry wait': `${start} message-discarded(retry) retry-start turn-start(takeover) message-start message-end retry-end(true) step-end turn-end(completed) ${closed}`,
  'a crash between steps': `${start} message-end(x) ${call} step-end turn-start(takeover) ${last}`,
  'a crash in a compaction': `user-message turn-start compaction-start(c) turn-start(takeover) ${last}`,
  'a crash in a compaction behind the turn': `${start} message-end step-end turn-end(completed) save-point compaction-start(c) user-message turn-start ${last}`,
  'errors and orchestration': `user-message turn-start error orchestration-step step-start error message-start error message-end(x) error ${call} step-end error runtime-input(step-end) ${last} error`,
  'runs that end before they begin': `session-start run-queued(run_b) run-queued(run_c) lone-end(run_b) lone-end(run_c,error) settled run-queued(run_1) ${start} message-end step-end turn-end(completed) ${closed}`,
  'what others write': `session-start run-queued(run_1) user-message turn-start run-queued(run_b) step-start message-start lone-end(run_b) message-end step-end turn-end(completed) save-point run-queued(run_c) lone-end(run_c) settled branch-switched user-message turn-start ${last} session-end`,
}

const numbered = (events: readonly AgentEvent[]): readonly AgentEvent[] => {
  let seq = 0
  return events.map((event) => (event.seq === undefined ? event : { ...event, seq: ++seq }))
}

describe('the grammar of events', () => {
  it.each(Object.entries(drawings))('A35: accepts %s', (_name, drawing) => {
    const log = drawnLog(drawing)
    expect(checkEvents(log, { allDeltas: true })).toEqual([])
    for (let length = 0; length < log.length; length++) expect(checkEvents(log.slice(0, length), { unfinished: true })).toEqual([])
  })

  it.each([
    [
      'input in a closed window',
      `${start} runtime-input(step-start) message-end step-end turn-end(completed) ${closed}`,
      '4 runtime-input: has placement "step-start", but no input is allowed here',
    ],
    [
      'input at another window',
      `user-message turn-start runtime-input(step-end) ${last}`,
      '2 runtime-input: has placement "step-end", expected "turn-start"',
    ],
    ['a turn without an input', `turn-start ${last}`, '1 step-start: the turn has no input'],
    [
      'A39: a message without an end',
      `${start} step-end turn-end(completed) ${closed}`,
      '4 step-end: is not allowed here: the log is in state "message" and the event before is message-start',
    ],
    [
      'A39: a message with two ends',
      `${start} message-end message-discarded(retry) step-end turn-end(completed) ${closed}`,
      '5 message-discarded: is not allowed here: the log is in state "calls" and the event before is message-end',
    ],
    [
      'A39: a message that is withdrawn twice',
      `${start} message-discarded(retry) message-discarded(retry) retry-start message-start message-end retry-end(true) step-end turn-end(completed) ${closed}`,
      '5 message-discarded: the turn has no message msg_2',
    ],
    ['A40: a call without an outcome', `${start} message-end(x) step-end ${last}`, '5 step-end: the call x has no tool-execution-end'],
    [
      'A40: a second outcome',
      `${start} message-end(x) ${call} tool-execution-end(x) step-end ${last}`,
      '7 tool-execution-end: the call x has already ended',
    ],
    [
      'A42: two ends of one segment',
      `${start} message-end step-end turn-end(completed) turn-end(completed) ${closed}`,
      '7 turn-end: is not allowed here: the log is in state "closing" and the event before is turn-end',
    ],
    [
      'A42: an end without its save-point',
      `${start} message-end step-end turn-end(completed) settled`,
      '7 settled: is not allowed here: the log is in state "closing" and the event before is turn-end',
    ],
    [
      'A42: an event between turn-end and save-point',
      `${start} message-end step-end turn-end(completed) run-queued(run_b) ${closed}`,
      '7 run-queued: is not allowed here: the log is in state "closing" and the event before is turn-end',
    ],
    [
      'a segment that ends after an awaiting-tools that says that it goes on',
      `${start} message-end(r) awaiting-tools(r,continues) turn-end(awaiting-tools) save-point turn-start(answers) tool-execution-end(r,elsewhere) step-end ${last}`,
      '6 turn-end: has status "awaiting-tools" without an awaiting-tools event directly before it',
    ],
    [
      'A43: settled while calls wait',
      `${start} message-end(r) awaiting-tools(r) turn-end(awaiting-tools) ${closed}`,
      '8 settled: is not allowed while a turn is suspended',
    ],
    [
      'A43: settled while a run is queued',
      `run-queued(run_b) ${start} message-end step-end turn-end(completed) ${closed}`,
      '9 settled: the queue still has the run run_b',
    ],
    [
      'A43: settled behind an end while another run is queued',
      `session-start run-queued(run_b) run-queued(run_c) lone-end(run_b) settled lone-end(run_c)`,
      '4 settled: the queue still has the run run_c',
    ],
    [
      'A43: settled behind the end of a run that never began while a turn is open',
      `${start} lone-end(run_b) settled message-end step-end turn-end(completed) save-point`,
      '5 settled: is not allowed here: the log is in state "message" and the event before is message-start',
    ],
    [
      'S126: steps of a run that never began',
      `${start} message-end step-end turn-end(completed) ${closed} lone-end(run_b,steps)`,
      '9 turn-end: names the run run_b, expected run_1: another run may end here only as aborted or error with 0 steps',
    ],
    [
      'A43: settled twice',
      `${start} message-end step-end turn-end(completed) ${closed} settled`,
      '9 settled: the event before is settled, expected save-point, compaction-end or turn-end',
    ],
    [
      'A77: a start before its approval',
      `${start} message-end(x) approval-requested(x) ${call} step-end ${last}`,
      '6 tool-execution-start: the approval of the call x is "requested", expected "approve"',
    ],
    [
      'A77: a start behind a denial',
      `${start} message-end(x) approval-requested(x) approval-resolved(x,deny) ${call} step-end ${last}`,
      '7 tool-execution-start: the approval of the call x is "deny", expected "approve"',
    ],
    [
      'a decision that nobody asked for',
      `${start} message-end(x) approval-resolved(x,approve) ${call} step-end ${last}`,
      '5 approval-resolved: the approval approval_x is not open: it was not requested or is already resolved',
    ],
    [
      'a second question',
      `${start} message-end(x) approval-requested(x) approval-requested(x) approval-resolved(x,approve) ${call} step-end ${last}`,
      '6 approval-requested: the approval id approval_x is already used',
    ],
    [
      'a turn that waits for no approval',
      `${start} message-end(x) turn-end(awaiting-approval) save-point`,
      '5 turn-end: has status "awaiting-approval", but no approval is open',
    ],
    [
      'A118: a retry without its end',
      `${start} message-discarded(retry) retry-start message-start message-end step-end turn-end(completed) ${closed}`,
      '8 step-end: the retry with attempt 2 has no retry-end',
    ],
    [
      'A118: a second end of a retry',
      `${start} message-discarded(retry) retry-start message-start message-end retry-end(true) retry-end(true) step-end turn-end(completed) ${closed}`,
      '9 retry-end: ends attempt 2, but no retry-start announced it',
    ],
    [
      'A118: a retry before any failure',
      `${start} message-end step-end step-start retry-start message-start message-end retry-end(true) step-end turn-end(completed) ${closed}`,
      '7 retry-start: announces a retry, but no attempt has failed',
    ],
    [
      'an attempt without its announcement',
      `${start} message-discarded(retry) message-start message-end step-end turn-end(completed) ${closed}`,
      '5 message-start: the previous attempt failed and no retry-start follows it',
    ],
    [
      'a message of an earlier turn that is withdrawn',
      `user-message turn-start ${last} user-message turn-start step-start message-start message-discarded(failed) message-discarded(failed,msg_1) step-end turn-end(error) ${closed}`,
      '18 message-discarded: the turn has no message msg_1',
    ],
    [
      'a withdrawal that follows no failed attempt',
      `${start} message-discarded(retry) usage(discarded-attempt) message-discarded(rewind,msg_1) retry-start message-start message-end retry-end(true) step-end turn-end(completed) ${closed}`,
      '6 message-discarded: the event before is usage, expected message-discarded, turn-start or compaction-end',
    ],
    [
      'a message of a dead process that ends',
      `${start} turn-start(takeover) message-end step-end turn-end(completed) ${closed}`,
      '5 message-end: the process died during the message msg_2, expected message-discarded with reason "crash"',
    ],
    [
      'a child without its call',
      `${start} message-end(x) child-start(x) child-end(x,completed) usage(child) tool-execution-end(x,no) step-end ${last}`,
      '5 child-start: the call x has not started',
    ],
    [
      'a child that starts twice',
      `${start} message-end(x) tool-execution-start(x) child-start(x) child-start(x) tool-execution-end(x) step-end ${last}`,
      '7 child-start: the subagent run child_x has already started',
    ],
    [
      'a child that starts again when its parent goes on',
      `${start} message-end(x) tool-execution-start(x) child-start(x) awaiting-tools(x/y) turn-end(awaiting-tools) save-point turn-start(answers) child-start(x) child-end(x,completed) usage(child) tool-execution-end(x) step-end ${last}`,
      '11 child-start: the subagent run child_x has already started',
    ],
    [
      'a child that is not booked',
      `${start} message-end(x) tool-execution-start(x) child-start(x) child-end(x,completed) tool-execution-end(x) step-end ${last}`,
      '9 step-end: the cost of a subagent of the call x has no usage event',
    ],
    [
      'a child whose steps go back',
      `${start} message-end(x) tool-execution-start(x) child-start(x) child-update(x,2) child-update(x,1) child-end(x,completed) usage(child) tool-execution-end(x) step-end ${last}`,
      '8 child-update: the subagent run child_x has step 1, expected at least 2',
    ],
    [
      'a child whose name changes',
      `${start} message-end(x) tool-execution-start(x) child-start(x) child-update(x,1,other) child-end(x,completed) usage(child) tool-execution-end(x) step-end ${last}`,
      '7 child-update: the subagent run child_x has subagent other, expected helper',
    ],
    [
      'a child that ends twice',
      `${start} message-end(x) tool-execution-start(x) child-start(x) child-end(x,completed) usage(child) child-end(x,completed) usage(child) tool-execution-end(x) step-end ${last}`,
      '9 child-end: the subagent run child_x has already ended',
    ],
    [
      'a call while a compaction runs',
      `user-message turn-start compaction-start(c) step-start message-start message-end step-end turn-end(completed) ${closed}`,
      '3 step-start: is not allowed here: the log is in state "compacting" and the event before is compaction-start',
    ],
    [
      'a compaction at open calls',
      `${start} message-end(x) compaction-start(c) compaction-end(c,failed) ${call} step-end ${last}`,
      '5 compaction-start: is not allowed here: the log is in state "calls" and the event before is message-end',
    ],
    [
      'the end of another compaction',
      `user-message turn-start compaction-start(c) compaction-end(d,failed) ${last}`,
      '3 compaction-end: has compactionId d, expected c',
    ],
    [
      'an input while calls wait',
      `${start} message-end(r) awaiting-tools(r) turn-end(awaiting-tools) save-point user-message turn-start ${last}`,
      '8 user-message: is not allowed while a turn is suspended',
    ],
    [
      'waiting for a call that has ended',
      `${start} message-end(x) ${call} awaiting-tools(x) turn-end(awaiting-tools) save-point`,
      '7 awaiting-tools: the call x has already ended',
    ],
    [
      'an error before the turn',
      `error user-message turn-start ${last}`.replace('error ', 'user-message error '),
      '1 error: is not allowed here: the log is in state "input" and the event before is user-message',
    ],
  ])('A35: finds %s', (_name, drawing, problem) => {
    expect(checkEvents(drawnLog(drawing), { allDeltas: true })[0]).toBe(problem)
  })

  it.each([
    [
      'A44: usage that is not the sum',
      'turn-end',
      { usage: { inputTokens: 1 } },
      '17 turn-end: usage is {"inputTokens":1}, expected the sum {"inputTokens":6,"outputTokens":4,"totalTokens":10}',
    ],
    [
      'A44: a cost that is not the sum',
      'turn-end',
      { cost: undefined },
      '17 turn-end: cost is undefined, expected the sum {"currency":"USD","total":"0.3","input":"0.3","cacheRead":"0","cacheWrite":"0","output":"0"}',
    ],
    [
      'an event of another run',
      'step-end',
      { runId: 'other' },
      '7 step-end: names turn 1 of the run other, expected turn 1 of the run run_1',
    ],
    ['an event of another step', 'message-end', { step: 7 }, '4 message-end: names step 7, expected 1'],
    [
      'an overlay with its text',
      'runtime-input',
      { source: 'overlay' },
      '8 runtime-input: has source "overlay" and a message, but an overlay must have none',
    ],
    [
      'a result out of its place',
      'tool-execution-end',
      { message: { index: 3 } },
      '6 tool-execution-end: its message is for the call undefined with index 3, expected x with index 0',
    ],
    ['an event without its number', 'step-end', { seq: undefined }, '7 step-end: has no seq, but a durable event must have one'],
  ] as const)('A35: finds %s', (_name, type, change, problem) => {
    const log = drawnLog(`${start} message-end(x) ${call} step-end runtime-input(step-end) ${last}`)
    expect(checkEvents(log)).toEqual([])
    expect(checkEvents(log.map((event) => (event.type === type ? ({ ...event, ...change } as AgentEvent) : event)))[0]).toBe(problem)
  })

  it('accepts the failure of a journal without a number', () => {
    const log = drawnLog(`${start} error`).map((event): AgentEvent => {
      if (event.type !== 'error') return event
      const { seq: _seq, ...unnumbered } = event
      return { ...unnumbered, source: 'journal', fatal: true }
    })
    expect(checkEvents(log, { unfinished: true })).toEqual([])
  })

  it('accepts a log from a later segment on', () => {
    const whole = drawnLog(drawings['a part of the results'] ?? '')
    const from = whole.findIndex((event) => event.type === 'turn-start' && event.resumed)
    expect(from).toBeGreaterThan(0)
    expect(checkEvents(whole.slice(from))).toEqual([])
  })

  it('A35: reports any event left out of a drawing, except those that may be missing', () => {
    const mayBeMissing = new Set([
      'settled',
      'usage',
      'user-message',
      'runtime-input',
      'error',
      'orchestration-step',
      'run-queued',
      'lone-end',
    ])
    const log = drawnLog(`${drawings['a retry']} ${drawings['a part of the results']}`)
    for (const [place, event] of log.entries()) {
      if (mayBeMissing.has(event.type) || isDelta(event)) continue
      const without = numbered(log.toSpliced(place, 1))
      expect(checkEvents(without, { allDeltas: true }), `${place} ${event.type}`).not.toEqual([])
    }
  })
})
