import type { Delivery, SentInput } from '../session/use-activity.ts'
import type { QueuedInput } from './margins.ts'
import { PendingBubble } from './messages.tsx'

interface PendingInputsProps {
  readonly sent: readonly SentInput[]
  readonly queued: readonly QueuedInput[]
  /** A run is open before those that are queued. */
  readonly behind: boolean
}

const fates: Readonly<Record<Delivery, string | undefined>> = {
  start: undefined,
  steer: 'Steers the run: the agent reads it before its next step.',
  queue: 'On its way into the queue.',
}

/** Shows what has been said and is not in the conversation yet, in the order in which the agent will read it. */
export function PendingInputs({ sent, queued, behind }: PendingInputsProps) {
  const onTheirWay = (steers: boolean): readonly SentInput[] => sent.filter(({ delivery }) => (delivery === 'steer') === steers)
  return (
    <>
      <SentBubbles sent={onTheirWay(true)} />
      {queued.map(({ runId, text }, index) => (
        <PendingBubble key={runId} text={text} fate={behind || index > 0 ? 'Next message: starts when this run has ended.' : undefined} />
      ))}
      <SentBubbles sent={onTheirWay(false)} />
    </>
  )
}

/** Shows what has been said and was stopped, or has failed, before the agent read it. */
export function WithdrawnInputs({ texts = [] }: { readonly texts?: readonly string[] | undefined }) {
  return texts.map((text, index) => <PendingBubble key={index} text={text} fate="Not sent: the agent has not read it." />)
}

function SentBubbles({ sent }: Pick<PendingInputsProps, 'sent'>) {
  return sent.map(({ id, text, delivery }) => <PendingBubble key={id} text={text} fate={fates[delivery]} />)
}
