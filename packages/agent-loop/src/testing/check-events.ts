import { checkBoolean, checkKeys, checkRequired } from '../base/checks.ts'
import { isRecord } from '../base/json.ts'
import { isDelta, isDurable } from '../events/kinds.ts'
import type { AgentEvent } from '../events/types.ts'
import { createEventGrammar } from './grammar/event-grammar.ts'

export interface CheckEventsOptions {
  /** Every delta is there, as in the log of a `recordingJournal`; a reader may have missed some. Default false. */
  readonly allDeltas?: boolean
  /** The log may stop anywhere, as after a crash. Default false. */
  readonly unfinished?: boolean
}

/** Checks a log against the grammar of events. Gives what is wrong, in order; an empty list is a right log. */
export function checkEvents(events: readonly AgentEvent[], options: CheckEventsOptions = {}): readonly string[] {
  checkRequired('events', events, 'a list of events', Array.isArray)
  for (const [place, event] of events.entries()) checkRequired(`events[${place}]`, event, 'an event', isRecord)
  checkKeys('checkEvents.options', options, ['allDeltas', 'unfinished'])
  checkBoolean('allDeltas', options.allDeltas)
  checkBoolean('unfinished', options.unfinished)
  const problems: string[] = []
  const grammar = createEventGrammar({ allDeltas: options.allDeltas ?? false })
  let seq: number | undefined
  for (const [place, event] of events.entries()) {
    const say = (problem: string): void => void problems.push(`${place} ${event.type}: ${problem}`)
    if (!isDelta(event) && !isDurable(event)) {
      say('unknown type')
      continue
    }
    if (isDelta(event) && event.seq !== undefined) say('a delta has a seq')
    // What a failing journal leads to cannot be stored.
    if (isDurable(event) && !(event.type === 'error' && event.source === 'journal')) {
      if (event.seq === undefined) say('a durable event has no seq')
      else if (seq !== undefined && event.seq !== seq + 1) say(`seq ${event.seq} follows ${seq}`)
      seq = event.seq ?? seq
    }
    for (const problem of grammar.take(event)) say(problem)
  }
  if (!options.unfinished) problems.push(...grammar.atEnd().map((problem) => `end: ${problem}`))
  return problems
}
