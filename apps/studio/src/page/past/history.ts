import type { DurableEvent, ViewMessage } from '@bowline/agent-loop/events'
import { foldMoment, momentBefore } from './moment.ts'
import type { Moment } from './moment.ts'

const checkpointEvery = 100

/** Moments of a log that may grow at its end. A read folds only the events after the previous checkpoint. */
export interface History {
  /** Returns the moment after the first `count` events of the log. */
  at(log: readonly DurableEvent[], count: number): Moment
}

/** Creates the history. `copied` holds the first messages of the session if they are not in its log. */
export function createHistory(copied: readonly ViewMessage[] = []): History {
  const checkpoints: Moment[] = [momentBefore(copied)]
  let last: { readonly count: number; readonly moment: Moment } | undefined
  return {
    at(log, count) {
      let from = Math.min(Math.floor(count / checkpointEvery), checkpoints.length - 1)
      let moment = checkpoints[from] ?? momentBefore(copied)
      from *= checkpointEvery
      if (last && last.count <= count && last.count > from) {
        from = last.count
        moment = last.moment
      }
      for (const [place, event] of log.slice(from, count).entries()) {
        moment = foldMoment(moment, event)
        const folded = from + place + 1
        if (folded === checkpoints.length * checkpointEvery) checkpoints.push(moment)
      }
      last = { count, moment }
      return moment
    },
  }
}
