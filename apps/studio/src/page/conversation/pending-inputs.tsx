import type { Delivery, SentInput } from '../session/use-activity.ts'
import type { QueuedInput } from './margins.ts'
import { PendingBubble } from './messages.tsx'

interface PendingInputsProps {
  readonly sent: readonly SentInput[]
  readonly queued: readonly QueuedInput[]
  /** True if a run is open before the queued ones. */
  readonly behind: boolean
}

const fates: Readonly<Record<Exclude<Delivery, 'start'>, string>> = {
  steer: 'Steers the run: the agent reads it before its next step.',
  queue: 'On its way into the queue.',
  interrupt: 'Interrupts the run: that stops, and this is the next message.',
}

/** Returns what the agent will do with an input, once the server has accepted it. */
function fateOf({ delivery, accepted }: SentInput): string | undefined {
  if (delivery === 'start') return undefined
  return accepted ? fates[delivery] : 'Being sent.'
}

/** Shows inputs that are not in the conversation yet, in the order in which the agent will read them. */
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

/** Shows inputs that were stopped, or that failed, before the agent read them. */
export function WithdrawnInputs({ texts = [] }: { readonly texts?: readonly string[] | undefined }) {
  return texts.map((text, index) => <PendingBubble key={index} text={text} fate="Not sent: the agent has not read it." />)
}

function SentBubbles({ sent }: Pick<PendingInputsProps, 'sent'>) {
  return sent.map((input) => <PendingBubble key={input.id} text={input.text} fate={fateOf(input)} />)
}
