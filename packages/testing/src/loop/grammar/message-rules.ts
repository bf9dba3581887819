import { canonicalJson } from '@bowline/agent-loop'
import { clientCalls } from '@bowline/agent-loop/internal'
import type { MessageDiscardedEvent, UsageEvent } from '@bowline/agent-loop'
import { BlockGrammar, inTurn, move, noRetryEnd, openApprovals } from './log-state.ts'
import type { CallState, LogState, Must, Rules } from './log-state.ts'
import { book } from './turn-rules.ts'

/** Rules for model calls: their attempts, their retries, their cost, and the compactions between them. */
export const messageRules: Rules<
  ('message-start' | 'message-end' | 'message-discarded' | 'retry-start' | 'retry-end' | 'usage') | ('compaction-start' | 'compaction-end')
> = {
  'message-start': {
    at: ['step'],
    take(log, { messageId }, must) {
      must(!log.attemptFailed, 'the previous attempt failed and no retry-start follows it')
      must(log.approvals.size === 0, openApprovals(log))
      must(!log.usedIds.has(messageId), `the message id ${messageId} is already used`)
      log.usedIds.add(messageId)
      move(log, { place: 'message', message: { id: messageId, blocks: new BlockGrammar(), lost: false } })
    },
  },
  'message-end': {
    at: ['message'],
    take(log, { messageId, message }, must, { allDeltas }) {
      must(
        log.message?.id === messageId && message.id === messageId,
        `has messageId ${messageId} and message.id ${message.id}, but the open message is ${log.message?.id ?? 'none'}`,
      )
      must(log.message?.lost !== true, `the process died during the message ${messageId}, expected message-discarded with reason "crash"`)
      const unfinished = log.message?.blocks.unfinished ?? []
      if (allDeltas) must(unfinished.length === 0, `the content blocks ${unfinished.join(', ')} have no end`)
      const calls = clientCalls(message).map(({ toolCallId }, index): [string, CallState] => [
        toolCallId,
        { index, attempts: 0, running: false, ended: false, cutOff: false, approval: undefined },
      ])
      log.messages.add(messageId)
      move(log, { place: 'calls', message: undefined, calls: new Map(calls) })
      book(log, message)
    },
  },
  'message-discarded': { at: ['input', 'message', 'step'], take: discard },
  'retry-start': {
    at: ['step'],
    take(log, { attempt }, must) {
      must(log.attemptFailed, 'announces a retry, but no attempt has failed')
      must(log.retry === undefined, noRetryEnd(log))
      must(attempt > 1, `has attempt ${attempt}, expected at least 2`)
      move(log, { retry: attempt, attemptFailed: false })
    },
  },
  'retry-end': {
    at: ['step', 'calls'],
    take(log, { attempt, success }, must) {
      must(
        attempt === log.retry,
        log.retry === undefined
          ? `ends attempt ${attempt}, but no retry-start announced it`
          : `has attempt ${attempt}, expected ${log.retry}`,
      )
      if (log.place === 'calls')
        must(log.previous === 'message-end', `must come directly after message-end, but the event before is ${log.previous}`)
      else must(!success, 'has success true, but the attempt has no answer')
      log.retry = undefined
    },
  },
  usage: { at: [...inTurn, 'compacting'], take: bookUsage },
  'compaction-start': {
    at: ['outside', 'turn', 'step'],
    take(log, { compactionId }, must) {
      must(log.previous !== 'step-start', 'is not allowed directly after step-start')
      move(log, { compaction: { id: compactionId, from: log.place }, place: 'compacting' })
    },
  },
  'compaction-end': {
    at: ['compacting'],
    take(log, { compactionId, outcome, compaction }, must) {
      must(compactionId === log.compaction?.id, `has compactionId ${compactionId}, expected ${log.compaction?.id ?? 'none'}`)
      must(
        (outcome === 'done') === (compaction?.compactionId === compactionId),
        `has outcome "${outcome}" and compaction.compactionId ${compaction?.compactionId ?? 'none'}, expected ${outcome === 'done' ? compactionId : 'no compaction'}`,
      )
      move(log, { place: log.compaction?.from ?? 'outside', compaction: undefined })
    },
  },
}

/** Checks a withdrawal: of an open message, then of any number of messages of the turn; or of an input before its turn begins. */
function discard(log: LogState, { messageId, reason }: MessageDiscardedEvent, must: Must): void {
  must(
    (log.place === 'input') === (reason === 'replaced'),
    log.place === 'input'
      ? `has reason "${reason}", expected "replaced" before the turn begins`
      : 'has reason "replaced", but the turn has begun',
  )
  if (log.place === 'message') {
    must(messageId === log.message?.id, `has messageId ${messageId}, expected the open message ${log.message?.id ?? 'none'}`)
    must(
      log.message?.lost === (reason === 'crash'),
      log.message?.lost
        ? `has reason "${reason}", expected "crash" because the process died during the message`
        : 'has reason "crash", but the process did not die during the message',
    )
    move(log, { place: 'step', message: undefined, attemptFailed: reason !== 'crash' })
    return
  }
  // After a compaction that made no room, the turn may be withdrawn too.
  const allowedBefore: readonly (string | undefined)[] = ['message-discarded', 'turn-start', 'compaction-end']
  must(
    log.place === 'input' || allowedBefore.includes(log.previous),
    `the event before is ${log.previous ?? 'none'}, expected message-discarded, turn-start or compaction-end`,
  )
  must(log.messages.delete(messageId), `the turn has no message ${messageId}`)
}

function bookUsage(log: LogState, event: UsageEvent, must: Must): void {
  const { purpose } = event
  must(
    (purpose === 'compaction') === (log.place === 'compacting'),
    log.place === 'compacting' ? `has purpose "${purpose}", expected "compaction"` : 'has purpose "compaction", but no compaction is open',
  )
  if (purpose === 'discarded-attempt')
    must(
      log.place === 'step' && log.previous === 'message-discarded',
      `has purpose "discarded-attempt", but the event before is ${log.previous ?? 'none'}, expected message-discarded`,
    )
  if (purpose === 'child') {
    const isSame = ({ usage }: LogState['owed'][number]): boolean => canonicalJson({ ...usage }) === canonicalJson({ ...event.usage })
    // A call that was cut off never books the cost of its child.
    const open = log.owed.findIndex((each) => isSame(each) && log.calls.get(each.toolCallId)?.ended === false)
    const place = open >= 0 ? open : log.owed.findIndex(isSame)
    must(log.isPartial || place >= 0, `has purpose "child", but no ended subagent has the usage ${JSON.stringify(event.usage)}`)
    if (place >= 0) log.owed.splice(place, 1)
  }
  // A compaction outside of a turn is booked to no turn.
  if (log.compaction?.from !== 'outside') book(log, event)
}
