import type { DurableEvent, RunView, ViewMessage } from '@bowline/agent-loop/events'
import type { UseSessionResult } from '@bowline/client/react'
import { useCallback, useMemo, useRef, useState } from 'react'
import { createHistory } from './history.ts'
import type { Moment } from './moment.ts'

export interface Past {
  /** Moment after the newest event. */
  readonly present: Moment
  /** Present or selected moment. It stays the same object while a message is being written. */
  readonly moment: Moment
  /** View of the moment and the message that is being written. */
  readonly live: RunView
  /** Number of shown events. Absent in the present. */
  readonly shown: number | undefined
  /** Last event that the moment includes. */
  readonly event: DurableEvent | undefined
  readonly show: (count: number | undefined) => void
}

/** Returns the session at any event of its log. */
export function usePast(sessionId: string, log: readonly DurableEvent[], { view, status }: UseSessionResult): Past {
  const [chosen, setChosen] = useState<{ readonly sessionId: string; readonly count: number }>()
  const copied = useMemo(() => copiedMessages(log, view.messages), [log[0]?.seq, sessionId, status === 'loading'])
  const history = useMemo(() => createHistory(copied), [sessionId, log[0]?.seq, copied])
  const present = useMemo(() => history.at(log, log.length), [history, log])
  const shown = chosen?.sessionId === sessionId && chosen.count <= log.length ? chosen.count : undefined
  const quiet = useQuietView(view)
  const moment = useMemo(
    () => (shown === undefined ? { ...present, view: quiet } : history.at(log, shown)),
    [history, log, present, quiet, shown],
  )
  return {
    present,
    moment,
    live: shown === undefined ? view : moment.view,
    shown,
    event: log[(shown ?? log.length) - 1],
    show: useCallback((count) => setChosen(count === undefined ? undefined : { sessionId, count }), [sessionId]),
  }
}

/** Returns the view without parts that deltas change. It stays the same object until another part changes. */
function useQuietView(view: RunView): RunView {
  const before = useRef<RunView>(undefined)
  const { open: _open, output: _output, ...rest } = view
  const quiet: RunView = { ...rest, progress: noProgress }
  const names = Object.keys(quiet) as (keyof RunView)[]
  const known = before.current
  if (!known || names.length !== Object.keys(known).length || names.some((name) => known[name] !== quiet[name])) before.current = quiet
  return before.current ?? quiet
}

const noProgress: RunView['progress'] = {}

/** Returns the messages of a fork or import, which no event of the log contains. */
function copiedMessages(log: readonly DurableEvent[], messages: readonly ViewMessage[]): readonly ViewMessage[] {
  if (!log.some((event) => event.type === 'session-start' && event.copied)) return none
  const told = new Set(
    log.flatMap((event) => ('messageId' in event ? [event.messageId] : event.type === 'tool-execution-end' ? [event.message.id] : [])),
  )
  const first = messages.findIndex(({ id }) => id !== undefined && told.has(id))
  return first < 0 ? messages : messages.slice(0, first)
}

const none: readonly ViewMessage[] = []
