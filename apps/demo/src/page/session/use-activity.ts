import type { UseSessionResult } from '@bowline/client/react'
import { useState } from 'react'

const agent = 'demo'
const titleCharacters = 80

/** What is under way in one session. */
interface Activity {
  readonly sessionId: string
  readonly sent?: { readonly text: string; readonly after: number } | undefined
  readonly stopping?: boolean
}

export interface UsedActivity {
  /** Sent, and not yet in the log. */
  readonly sending: string | undefined
  readonly stopping: boolean
  /** False: it was not accepted. */
  readonly send: (text: string) => Promise<boolean>
  readonly stop: () => void
}

/** The moments between a click and the event that tells of it. */
export function useActivity(sessionId: string, session: UseSessionResult, onAccepted: () => void): UsedActivity {
  const [latest, setLatest] = useState<Activity>({ sessionId })
  const here = (activity: Activity): Activity => (activity.sessionId === sessionId ? activity : { sessionId })
  const { sent, stopping = false } = here(latest)
  const update = (change: Partial<Activity>): void => setLatest((before) => ({ ...here(before), ...change }))
  const asked = session.messages.filter((message) => message.role === 'user').length
  return {
    sending: sent && asked <= sent.after ? sent.text : undefined,
    stopping,
    async send(text) {
      update({ sent: { text, after: asked } })
      const { ok } = await session.send(text, { agent, metadata: { title: text.slice(0, titleCharacters) } })
      if (ok) onAccepted()
      else update({ sent: undefined })
      return ok
    },
    stop() {
      update({ stopping: true })
      void session.stop().finally(() => update({ stopping: false }))
    },
  }
}
