import { canonicalJson } from '../../base/hash-json.ts'
import { clientCalls } from '../../base/messages.ts'
import type { MessageDiscardedEvent, UsageEvent } from '../../events/message-events.ts'
import { BlockGrammar, inTurn, move } from './log-state.ts'
import type { CallState, LogState, Must, Rules } from './log-state.ts'
import { book } from './turn-rules.ts'

/** Rules for model calls: their attempts, their retries, their cost, and the compactions between them. */
export const messageRules: Rules<
  | ('message-start' | 'message-end' | 'message-discarded' | 'retry-start' | 'retry-end' | 'usage')
  | ('compaction-start' | 'compaction-end')
> = {
  'message-start': {
    at: ['step'],
    take(log, { messageId }, must) {
      must(!log.attemptFailed, 'the attempt before has no retry-start')
      must(log.approvals.size === 0, 'the question of the step is open')
      must(!log.usedIds.has(messageId), `the id ${messageId} is used`)
      log.usedIds.add(messageId)
      move(log, { place: 'message', message: { id: messageId, blocks: new BlockGrammar(), lost: false } })
    },
  },
  'message-end': {
    at: ['message'],
    take(log, { messageId, message }, must, { allDeltas }) {
      must(log.message?.id === messageId && message.id === messageId, 'another message is open')
      must(log.message?.lost !== true, 'the message belongs to a process that died')
      const unfinished = log.message?.blocks.unfinished ?? []
      if (allDeltas) must(unfinished.length === 0, `blocks ${unfinished.join(', ')} have no end`)
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
      must(log.attemptFailed, 'no attempt has failed')
      must(log.retry === undefined, 'the retry before has no end')
      must(attempt > 1, `announces attempt ${attempt}`)
      move(log, { retry: attempt, attemptFailed: false })
    },
  },
  'retry-end': {
    at: ['step', 'calls'],
    take(log, { attempt, success }, must) {
      must(attempt === log.retry, `ends attempt ${attempt} where ${log.retry ?? 'none'} is announced`)
      must(log.place === 'calls' ? log.previous === 'message-end' : !success, 'does not follow the answer')
      log.retry = undefined
    },
  },
  usage: { at: [...inTurn, 'compacting'], take: bookUsage },
  'compaction-start': {
    at: ['outside', 'turn', 'step'],
    take(log, { compactionId }, must) {
      must(log.previous !== 'step-start', 'stands between step-start and its call')
      move(log, { compaction: { id: compactionId, from: log.place }, place: 'compacting' })
    },
  },
  'compaction-end': {
    at: ['compacting'],
    take(log, { compactionId, outcome, compaction }, must) {
      must(compactionId === log.compaction?.id, 'another compaction is open')
      must((outcome === 'done') === (compaction?.compactionId === compactionId), 'has a compaction exactly when it is done')
      move(log, { place: log.compaction?.from ?? 'outside', compaction: undefined })
    },
  },
}

/** Checks a withdrawal: of an open message, then of any number of messages of the turn; or of an input before its turn begins. */
function discard(log: LogState, { messageId, reason }: MessageDiscardedEvent, must: Must): void {
  must((log.place === 'input') === (reason === 'replaced'), `withdraws as ${reason}`)
  if (log.place === 'message') {
    must(messageId === log.message?.id, `${messageId} is not open`)
    must(log.message?.lost === (reason === 'crash'), `withdraws as ${reason}`)
    move(log, { place: 'step', message: undefined, attemptFailed: reason !== 'crash' })
    return
  }
  // After a compaction that made no room, the turn may be withdrawn too.
  const behind: readonly (string | undefined)[] = ['message-discarded', 'turn-start', 'compaction-end']
  must(log.place === 'input' || behind.includes(log.previous), 'no attempt was withdrawn')
  must(log.messages.delete(messageId), `${messageId} is no message of the turn`)
}

function bookUsage(log: LogState, event: UsageEvent, must: Must): void {
  const { purpose } = event
  must((purpose === 'compaction') === (log.place === 'compacting'), `books ${purpose} here`)
  if (purpose === 'discarded-attempt') must(log.place === 'step' && log.previous === 'message-discarded', 'no attempt was withdrawn')
  if (purpose === 'child') {
    const isSame = ({ usage }: LogState['owed'][number]): boolean => canonicalJson({ ...usage }) === canonicalJson({ ...event.usage })
    // A call that was cut off never books the cost of its child.
    const open = log.owed.findIndex((each) => isSame(each) && log.calls.get(each.toolCallId)?.ended === false)
    const place = open >= 0 ? open : log.owed.findIndex(isSame)
    must(log.isPartial || place >= 0, 'no child has ended that has used this')
    if (place >= 0) log.owed.splice(place, 1)
  }
  // A compaction outside of a turn is booked to no turn.
  if (log.compaction?.from !== 'outside') book(log, event)
}
