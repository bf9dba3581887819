import type { AgentEvent, DeltaEvent, DurableEvent } from './agent-event.ts'
import { folds } from './folds.ts'
import type { Change } from './folds.ts'
import { isDelta, isDurable } from './kinds.ts'
import { patchOutput } from './output.ts'
import { statusOf } from './status.ts'
import { progressCharacters, toolCallOf } from './view.ts'
import type { OpenBlock, OpenMessage, OpenToolCall, RunView } from './view.ts'

/**
 * Returns the view after these events. It is pure and never throws: values that are not events, unknown types, repeated numbers,
 * durable events without a number, and deltas without their open message or call leave the view unchanged. A jump in `seq` sets
 * `gap`.
 */
export function reduceEvents(view: RunView, event: AgentEvent): RunView {
  if (isDelta(event)) return foldDelta(view, event)
  if (!isDurable(event) || event.seq === undefined || event.seq <= view.seq) return view
  const fold = folds[event.type] as (view: RunView, event: DurableEvent) => Change
  const next: Change = { ...view, ...fold(view, event), seq: event.seq }
  if (event.seq > view.seq + 1) next.gap = true
  if (next.phase === 'turn') next.status = statusOf('running', next.retry && !next.open)
  return withoutAbsent(next)
}

function withoutAbsent(change: Change): RunView {
  for (const key of Object.keys(change) as (keyof Change)[]) if (change[key] === undefined) delete change[key]
  return change as RunView
}

type BlockDelta = Exclude<DeltaEvent, { type: 'tool-execution-delta' | 'output-delta' }>

/** Leaves the view as it is for a delta without its open message, block or running call. */
function foldDelta(view: RunView, event: DeltaEvent): RunView {
  if (event.type === 'tool-execution-delta') {
    if (toolCallOf(view, event.toolCallId)?.state !== 'running') return view
    const before = event.replace ? '' : (view.progress[event.toolCallId] ?? '')
    const text = keepTail(before + event.delta)
    return { ...view, progress: { ...view.progress, [event.toolCallId]: text } }
  }
  const { open } = view
  if (!open || open.messageId !== event.messageId) return view
  if (event.type === 'output-delta') return withoutAbsent({ ...view, output: patchOutput(view.output, event.patch) })
  const blocks = foldBlock(open, event)
  return blocks ? { ...view, open: { ...open, blocks } } : view
}

function foldBlock(open: OpenMessage, event: BlockDelta): readonly OpenBlock[] | undefined {
  const { blocks } = open
  const place = blocks.findLastIndex((block) => block.index === event.index)
  const block = blocks[place]
  switch (event.type) {
    case 'text-start':
    case 'reasoning-start':
      return block
        ? undefined
        : [...blocks, { type: event.type === 'text-start' ? 'text' : 'reasoning', index: event.index, text: '', closed: false }]
    case 'text-delta':
    case 'reasoning-delta':
      return isText(block) && !block.closed ? blocks.with(place, { ...block, text: block.text + event.delta }) : undefined
    case 'text-end':
    case 'reasoning-end':
      return isText(block) ? blocks.with(place, { ...block, text: event.text, closed: true }) : undefined
    case 'tool-call-start': {
      const { index, toolCallId, toolName } = event
      return block ? undefined : [...blocks, { type: 'tool-call', index, toolCallId, toolName, inputText: '' }]
    }
    case 'tool-call-delta':
      return isCall(block) && !block.toolCall ? blocks.with(place, { ...block, inputText: block.inputText + event.delta }) : undefined
    case 'tool-call-end':
      return isCall(block) ? blocks.with(place, { ...block, toolCall: event.toolCall }) : undefined
    case 'content-part': {
      const part: OpenBlock = { type: 'part', index: event.index, part: event.part }
      return block ? blocks.with(place, part) : [...blocks, part]
    }
    default:
      return event satisfies never
  }
}

function isText(block: OpenBlock | undefined): block is Extract<OpenBlock, { type: 'text' | 'reasoning' }> {
  return block?.type === 'text' || block?.type === 'reasoning'
}

function isCall(block: OpenBlock | undefined): block is OpenToolCall {
  return block?.type === 'tool-call'
}

/** Cuts only text of twice the limit, so that the cost of cutting is spread over many deltas. */
function keepTail(text: string): string {
  return text.length > 2 * progressCharacters ? text.slice(-progressCharacters) : text
}
