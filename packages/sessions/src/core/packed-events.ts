import type { CallKey, NewEvent, PartialEvent } from '../contract/batch.ts'

/** Most references name what the event itself names. Then only their kind is stored. */
type PackedReference = 'entry' | 'call' | 'input' | NonNullable<NewEvent['refers']>
type Fields = Readonly<Record<string, unknown>>
type PackedEvent = readonly [Fields] | readonly [Fields, PackedReference]

/** Fields that all events of a commit share, and each event without them. */
export type PackedEvents = readonly [common: Fields, ...PackedEvent[]]

/** Returns the default idempotency key, which is derived and not stored. */
export function usualKey({ runId, step, toolCallId }: CallKey): string {
  return `${runId}/${step}/${toolCallId}`
}

/** Returns the id of the run if all events name the same. */
export function runNamedIn([first, ...others]: readonly NewEvent[]): string | undefined {
  const runId = first?.event.runId
  return typeof runId === 'string' && others.every(({ event }) => event.runId === runId) ? runId : undefined
}

/** Packs the events of one commit. Leaves out the fields that are stored `elsewhere`. */
export function packEvents(events: readonly NewEvent[], elsewhere: readonly string[] = []): PackedEvents {
  const common = commonFields(events.map(({ event }) => event))
  const names = [...Object.keys(common), ...elsewhere]
  for (const name of elsewhere) delete common[name]
  const packed = events.map(({ event, refers }): PackedEvent => {
    const fields = withoutUsualKey(event, names.length === 0 ? event : without(event, names))
    return refers ? [fields, packReference(event, refers)] : [fields]
  })
  return [common, ...packed]
}

/** Restores packed events. `elsewhere` holds the fields that were left out. */
export function unpackEvents([common, ...packed]: PackedEvents, elsewhere: Fields = {}): readonly NewEvent[] {
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
    // A field that is absent here is not shared.
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

/** Marks a key that can be derived from the other fields. */
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
