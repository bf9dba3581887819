import type { UseSessionResult } from '@bowline/client/react'
import { useState } from 'react'
import type { LoggedInput, Margins } from '../conversation/margins.ts'

const titleCharacters = 80

/** Delivery of an input: as a new run, as a steer of the open run, as a run after it, or as a run instead of it. */
export type Delivery = 'start' | 'steer' | 'queue' | 'interrupt'

export interface SentInput {
  readonly id: string
  readonly text: string
  readonly delivery: Delivery
  /** Number of the last event when it was sent. */
  readonly after: number
  readonly accepted: boolean
}

/** Inputs and stops in progress in one session. */
interface Activity {
  readonly sessionId: string
  readonly sent: readonly SentInput[]
  readonly stopping: boolean
}

/** Inputs that the server has accepted. They survive a reload, because the log contains a steer only after the run has read it. */
const accepted = {
  read: (sessionId: string): readonly SentInput[] => JSON.parse(sessionStorage.getItem(`sent/${sessionId}`) ?? '[]') as SentInput[],
  add: (sessionId: string, input: SentInput): void =>
    sessionStorage.setItem(`sent/${sessionId}`, JSON.stringify([...accepted.read(sessionId), input])),
}

const nothing = (sessionId: string): Activity => ({ sessionId, sent: accepted.read(sessionId), stopping: false })

export interface ActivityOptions {
  /** Agent of the session if the input starts it. Undefined: the default agent of the server. */
  readonly agent: string | undefined
  readonly onAccepted: () => void
}

export interface UsedActivity {
  /** Inputs that were sent and are not yet in the log. */
  readonly sent: readonly SentInput[]
  readonly stopping: boolean
  /** Sends an input. Resolves with false if it was not accepted. */
  readonly send: (text: string, delivery: Delivery) => Promise<boolean>
  readonly stop: () => void
}

/** Returns the actions between a click and the event that confirms it. */
export function useActivity(
  sessionId: string,
  session: UseSessionResult,
  { inputs, lastSeq }: Margins,
  { agent, onAccepted }: ActivityOptions,
): UsedActivity {
  const [latest, setLatest] = useState(() => nothing(sessionId))
  const here = (activity: Activity): Activity => (activity.sessionId === sessionId ? activity : nothing(sessionId))
  const update = (change: (before: Activity) => Partial<Activity>): void =>
    setLatest((before) => ({ ...here(before), ...change(here(before)) }))
  const { sent, stopping } = here(latest)
  return {
    sent: withoutLogged(sent, inputs),
    stopping,
    async send(text, delivery) {
      const id = crypto.randomUUID()
      const input: SentInput = { id, text, delivery, after: lastSeq, accepted: false }
      update((before) => ({ sent: [...before.sent, input] }))
      const options = {
        id,
        metadata: { title: text.slice(0, titleCharacters) },
        ...(agent !== undefined && { agent }),
        ...(delivery !== 'start' && { onBusy: delivery }),
      }
      const { ok } = await session.send(text, options)
      if (!ok) update((before) => ({ sent: before.sent.filter((other) => other.id !== id) }))
      else {
        const kept = { ...input, accepted: true }
        if (delivery === 'steer') accepted.add(sessionId, kept)
        update((before) => ({ sent: before.sent.map((other) => (other.id === id ? kept : other)) }))
        onAccepted()
      }
      return ok
    },
    stop() {
      update(() => ({ stopping: true }))
      void session.stop().finally(() => update(() => ({ stopping: false })))
    },
  }
}

/** Returns the inputs that are not in the log yet. The server gives inputs its own ids, so they are matched by text and time. */
function withoutLogged(sent: readonly SentInput[], inputs: readonly LoggedInput[]): readonly SentInput[] {
  if (sent.length === 0) return sent
  const logged = [...inputs]
  return sent.filter(({ text, after }) => {
    const place = logged.findIndex((input) => input.seq > after && input.text === text)
    if (place >= 0) logged.splice(place, 1)
    return place < 0
  })
}
