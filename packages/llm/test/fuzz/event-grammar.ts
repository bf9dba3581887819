import { isDeepStrictEqual } from 'node:util'
import type { AssistantMessage, MessageEvent } from '../../src/index.ts'
import { fault, messageFaults, survivesJson } from './message-grammar.ts'

type Delivered = Exclude<MessageEvent, { type: 'message-start' | 'message-end' }>

/** State of one position in the content, from the events so far. */
interface Block {
  readonly kind: 'text' | 'reasoning' | 'tool-call' | 'whole'
  readonly start: Delivered
  joined: string
  /** Part in the end event of the block; `undefined` while it is open. */
  part: unknown
}

/** All allowed fields of events. None of them can hold the message so far. */
const fields: Readonly<Record<MessageEvent['type'], readonly string[]>> = {
  'message-start': ['messageId', 'provider', 'modelId', 'at'],
  'text-start': ['index', 'providerMetadata'],
  'reasoning-start': ['index', 'providerMetadata'],
  'text-delta': ['index', 'delta'],
  'reasoning-delta': ['index', 'delta'],
  'text-end': ['index', 'text', 'providerMetadata', 'citations'],
  'reasoning-end': ['index', 'text', 'providerMetadata', 'citations'],
  'tool-call-start': ['index', 'toolCallId', 'toolName', 'providerExecuted', 'inputEncoding'],
  'tool-call-delta': ['index', 'delta'],
  'tool-call-end': ['index', 'toolCall'],
  'content-part': ['index', 'part'],
  'message-end': ['message'],
}

/**
 * Returns all faults in the events of one call, each with its rule. A reader that left has seen only the start, so fewer rules are
 * checked.
 */
export function eventFaults(
  events: readonly MessageEvent[],
  message: AssistantMessage,
  { left = false }: { readonly left?: boolean } = {},
): string[] {
  const blocks: Block[] = []
  const faults = [
    ...frameFaults(events, message, left),
    ...events.flatMap((event) => [...shapeFaults(event), ...blockFaults(event, blocks)]),
    ...messageFaults(message),
  ]
  if (left) return faults
  return [
    ...faults,
    ...blocks.flatMap((block, index) => closedFaults(block, index, message)),
    ...fault('L3', message.content.length !== blocks.length, `${blocks.length} blocks for ${message.content.length} parts`),
    ...fault('L34', (message.timing.firstDeltaMs === undefined) !== (blocks.length === 0), 'firstDeltaMs without a delta'),
  ]
}

function frameFaults(events: readonly MessageEvent[], message: AssistantMessage, left: boolean): string[] {
  const first = events[0]
  const last = events.at(-1)
  const count = (type: MessageEvent['type']): number => events.filter((event) => event.type === type).length
  const started = first?.type === 'message-start' ? first : undefined
  const { id: messageId, provider, modelId, at } = message
  const facts = { type: 'message-start', messageId, provider, modelId, at }
  return [
    ...fault('L1', !(started || (left && !first)), `the first event is ${first?.type}`),
    ...fault('L1', started !== undefined && !isDeepStrictEqual({ ...started }, facts), 'the start does not fit the message'),
    ...fault('L1', count('message-start') > 1 || count('message-end') > 1, 'a second start or end'),
    ...fault('L1', count('message-end') === 1 && last?.type !== 'message-end', 'events behind message-end'),
    ...fault('L1', !left && last?.type !== 'message-end', `the last event is ${last?.type}`),
    ...fault('L19', last?.type === 'message-end' && last.message !== message, 'result() is another object'),
  ]
}

function shapeFaults(event: MessageEvent): string[] {
  const known = ['type', ...fields[event.type]]
  const strange = Object.keys(event).filter((key) => !known.includes(key))
  return [
    ...fault('L5', strange.length > 0, `${event.type} has ${strange.join(', ')}`),
    ...fault('L10', !survivesJson(event), `${event.type} changes in JSON`),
    ...fault('L7', 'delta' in event && (typeof event.delta !== 'string' || event.delta === ''), 'an empty delta'),
  ]
}

function blockFaults(event: MessageEvent, blocks: Block[]): string[] {
  switch (event.type) {
    case 'message-start':
    case 'message-end':
      return []
    case 'text-start':
    case 'reasoning-start':
    case 'tool-call-start':
      return startFaults(event, blocks)
    case 'content-part':
      return wholeFaults(event, blocks)
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-call-delta':
      return deltaFaults(event, blocks[event.index])
    case 'text-end':
    case 'reasoning-end':
    case 'tool-call-end':
      return endFaults(event, blocks[event.index])
  }
}

function startFaults(event: Delivered, blocks: Block[]): string[] {
  const { index, type } = event
  const isNext = index === blocks.length
  const kind = type.replace('-start', '') as Block['kind']
  if (isNext) blocks.push({ kind, start: event, joined: '', part: undefined })
  return fault('L3', !isNext, `${type} at ${index}, the next place is ${blocks.length}`)
}

/** A position is used once. Only a preliminary result is replaced, by the next result of its call. */
function wholeFaults(event: Extract<Delivered, { type: 'content-part' }>, blocks: Block[]): string[] {
  const { index, part } = event
  const earlier = blocks[index]
  if (!earlier) {
    const isNext = index === blocks.length
    if (isNext) blocks.push({ kind: 'whole', start: event, joined: '', part })
    return fault('L3', !isNext, `content-part at ${index}, the next place is ${blocks.length}`)
  }
  const before = earlier.part as { type?: unknown; toolCallId?: unknown } | undefined
  earlier.part = part
  const replaces = part.type === 'tool-result' && before?.type === 'tool-result' && part.toolCallId === before.toolCallId
  return fault('L3', earlier.kind !== 'whole' || !replaces, `content-part at ${index} which is taken`)
}

function deltaFaults(event: Extract<Delivered, { delta: string }>, block: Block | undefined): string[] {
  if (!block || block.part !== undefined) return [`L2: ${event.type} at ${event.index} outside of a block`]
  const cutsCharacter = isHigh(block.joined.charCodeAt(block.joined.length - 1)) && isLow(event.delta.charCodeAt(0))
  block.joined += event.delta
  return [
    ...fault('L2', event.type !== `${block.kind}-delta`, `${event.type} in a block of ${block.kind}`),
    ...fault('L4', cutsCharacter, 'a delta begins in the middle of a character'),
  ]
}

function endFaults(
  event: Extract<Delivered, { type: 'text-end' | 'reasoning-end' | 'tool-call-end' }>,
  block: Block | undefined,
): string[] {
  if (!block || block.part !== undefined) return [`L2: ${event.type} at ${event.index} outside of a block`]
  const wrongKind = fault('L2', event.type !== `${block.kind}-end`, `${event.type} in a block of ${block.kind}`)
  if (event.type === 'tool-call-end') {
    block.part = event.toolCall
    const { start } = block
    const renamed = start.type === 'tool-call-start' && start.toolCallId !== event.toolCall.toolCallId
    return [...wrongKind, ...fault('L14', renamed, 'a call ends under another id')]
  }
  const { type: _, index: __, ...said } = event
  block.part = { type: block.kind, ...said }
  const started = Object.keys(('providerMetadata' in block.start && block.start.providerMetadata) || {})
  const kept = Object.keys(event.providerMetadata ?? {})
  const isEmpty = event.text === '' && event.providerMetadata === undefined && event.citations === undefined
  return [
    ...wrongKind,
    ...fault('L4', event.text !== block.joined, `the end says ${JSON.stringify(event.text)}, the deltas ${JSON.stringify(block.joined)}`),
    ...fault('L7', isEmpty, 'a block without text or metadata'),
    ...fault('L11', !started.every((provider) => kept.includes(provider)), 'the end has lost metadata of the start'),
  ]
}

function closedFaults(block: Block, index: number, message: AssistantMessage): string[] {
  if (block.part === undefined) return [`L2: the block at ${index} has no end`]
  return fault('L3', !isDeepStrictEqual(message.content[index], block.part), `the part at ${index} is not what its events said`)
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
