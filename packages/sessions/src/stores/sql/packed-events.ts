import type { CallKey, NewEvent, PartialEvent } from '../../contract/batch.ts'
import { parseStored } from '../../json.ts'
import { usualKey } from './calls.ts'

/** Most references name what the event itself names: then only their kind is kept. */
type PackedReference = 'entry' | 'call' | 'input' | NonNullable<NewEvent['refers']>
type Fields = Readonly<Record<string, unknown>>
type PackedEvent = readonly [Fields] | readonly [Fields, PackedReference]

/** What the events of one commit have in common, and each event without that. */
type Packed = readonly [common: Fields, ...PackedEvent[]]

/** The run that all of these events name. */
export function runNamedIn([first, ...others]: readonly NewEvent[]): string | undefined {
  const runId = first?.event.runId
  return typeof runId === 'string' && others.every(({ event }) => event.runId === runId) ? runId : undefined
}

/** The events of one commit as one text, without what all of them have and is kept elsewhere. */
export function packEvents(events: readonly NewEvent[], elsewhere: readonly string[]): string {
  const common = commonFields(events.map(({ event }) => event))
  const names = [...Object.keys(common), ...elsewhere]
  for (const name of elsewhere) delete common[name]
  const packed = events.map(({ event, refers }): PackedEvent => {
    const fields = withoutUsualKey(event, names.length === 0 ? event : without(event, names))
    return refers ? [fields, packReference(event, refers)] : [fields]
  })
  return JSON.stringify([common, ...packed])
}

/** `elsewhere`: what was left out of all of them. */
export function unpackEvents(text: string, elsewhere: Fields, where: string): readonly NewEvent[] {
  const [common, ...packed] = parseStored<Packed>(text, where)
  return packed.map(([fields, reference]) => {
    const event = { ...elsewhere, ...common, ...fields } as unknown as PartialEvent
    if (event.idempotencyKey === asUsual) Object.assign(event, { idempotencyKey: usualKey(event as unknown as CallKey) })
    return reference === undefined ? { event } : { event, refers: unpackReference(event, reference) }
  })
}

function commonFields(events: readonly PartialEvent[]): Record<string, unknown> {
  const [first, ...others] = events
  if (!first || others.length === 0) return {}
  const shared: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(first)) {
    // An absent field is not one that all have.
    if (value === undefined || typeof value === 'object') continue
    if (others.every((other) => other[name] === value)) shared[name] = value
  }
  return shared
}

function without(event: PartialEvent, names: readonly string[]): Fields {
  const left: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(event)) if (!names.includes(name)) left[name] = value
  return left
}

/** Stands for the key that is made of what the event names. */
const asUsual = 0

function withoutUsualKey(event: PartialEvent, fields: Fields): Fields {
  const isUsual = 'idempotencyKey' in fields && event.idempotencyKey === usualKey(event as unknown as CallKey)
  return isUsual ? { ...fields, idempotencyKey: asUsual } : fields
}

function packReference(event: PartialEvent, refers: NonNullable<NewEvent['refers']>): PackedReference {
  if ('entryId' in refers) return event.messageId === refers.entryId ? 'entry' : refers
  if ('runInput' in refers) return event.runId === refers.runInput ? 'input' : refers
  const { runId, step, toolCallId } = refers.call
  return event.runId === runId && event.step === step && event.toolCallId === toolCallId ? 'call' : refers
}

function unpackReference(event: PartialEvent, reference: PackedReference): NonNullable<NewEvent['refers']> {
  const { messageId, runId, step, toolCallId } = event as unknown as CallKey & { readonly messageId: string }
  switch (reference) {
    case 'entry':
      return { entryId: messageId }
    case 'input':
      return { runInput: runId }
    case 'call':
      return { call: { runId, step, toolCallId } }
    default:
      return reference
  }
}
