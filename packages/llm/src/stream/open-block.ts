import type { ProviderMetadata } from '../messages.ts'
import { BlockText } from './block-text.ts'
import { mergeMetadata } from './provider-metadata.ts'

export type TextKind = 'text' | 'reasoning'

/** Common part of all blocks that grow by deltas, so that the next delta needs no look-up. */
export interface OpenBlock {
  /** Id of the block at the provider. */
  readonly id: string
  readonly partType: 'text-delta' | 'reasoning-delta' | 'tool-input-delta'
  readonly eventType: 'text-delta' | 'reasoning-delta' | 'tool-call-delta'
  readonly text: BlockText
  /** Undefined until the first event of the block. */
  index: number | undefined
  metadata: ProviderMetadata | undefined
}

/** Has no index until its first character or metadata: an empty block leaves no trace. */
export interface TextBlock extends OpenBlock {
  readonly kind: TextKind
}

export interface CallBlock extends OpenBlock {
  readonly index: number
  readonly toolCallId: string
  readonly toolName: string
  readonly encoding: 'json' | 'text'
  readonly flags: CallFlags
  inputEnded: boolean
}

export interface CallFlags {
  readonly providerExecuted?: true
  readonly dynamic?: true
}

export interface CallFacts {
  readonly providerExecuted?: boolean | undefined
  readonly dynamic?: boolean | undefined
  readonly providerMetadata?: unknown
}

export function newTextBlock(kind: TextKind, id: string): TextBlock {
  const type = kind === 'text' ? 'text-delta' : 'reasoning-delta'
  return { id, partType: type, eventType: type, text: new BlockText(), index: undefined, metadata: undefined, kind }
}

export function newCallBlock(
  facts: Pick<CallBlock, 'id' | 'index' | 'toolCallId' | 'toolName'>,
  encoding: 'json' | 'text' | undefined,
  from: CallFacts,
): CallBlock {
  return {
    ...facts,
    partType: 'tool-input-delta',
    eventType: 'tool-call-delta',
    text: new BlockText(),
    metadata: mergeMetadata(undefined, from.providerMetadata),
    encoding: encoding ?? 'json',
    flags: callFlags(from),
    inputEnded: false,
  }
}

export function callFlags(facts: CallFacts): CallFlags {
  return { ...(facts.providerExecuted && { providerExecuted: true }), ...(facts.dynamic && { dynamic: true }) }
}
