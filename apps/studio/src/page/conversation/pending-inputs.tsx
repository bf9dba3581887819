import type { Delivery, SentInput } from '../session/use-activity.ts'
import type { QueuedInput } from './margins.ts'
import { PendingBubble } from './messages.tsx'

interface PendingInputsProps {
  readonly sent: readonly SentInput[]
  readonly queued: readonly QueuedInput[]
  /** A run is open before those that are queued. */
  readonly behind: boolean
}

const fates: Readonly<Record<Exclude<Delivery, 'start'>, string>> = {
  steer: 'Steers the run: the agent reads it before its next step.',
  queue: 'On its way into the queue.',
  interrupt: 'Interrupts the run: that stops, and this is the next message.',
}

/** The server must have accepted an input before the page says what the agent will do with it. */
function fateOf({ delivery, accepted }: SentInput): string | undefined {
  if (delivery === 'start') return undefined
  return accepted ? fates[delivery] : 'Being sent.'
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
  return sent.map((input) => <PendingBubble key={input.id} text={input.text} fate={fateOf(input)} />)
}
