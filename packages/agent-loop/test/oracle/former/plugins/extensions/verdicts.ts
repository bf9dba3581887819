import type { JSONValue, UserMessage } from '@bowline/llm'
import type { CallDecision, CompactionDecision } from '../../contract/extension.ts'

// What all handlers of a hook come to, taken together.

/** A transformed input is in its stored form. */
export type InputVerdict =
  | { readonly action: 'continue' }
  | { readonly action: 'transform'; readonly input: UserMessage }
  | { readonly action: 'handled'; readonly reply?: string; readonly extension: string }

export interface AgentStartVerdict {
  readonly instructions: string
  readonly append: readonly UserMessage[]
}

/**
 * `modified` is there when a hook changed the input: `input` for the intent and everybody who is told of the call,
 * `value` for the tool. `stopped`: the end of the run came first, and nobody has allowed the call.
 */
export type CallVerdict =
  | { readonly action: 'allow'; readonly modified?: { readonly input: JSONValue; readonly value: JSONValue } }
  | (Exclude<CallDecision, { action: 'allow' | 'modify' }> & { readonly extension: string })
  | { readonly action: 'stopped' }

/** `instructions` are those that were added. */
export type CompactionVerdict =
  | { readonly action: 'go-on'; readonly instructions?: string }
  | { readonly action: 'cancel'; readonly reason: string }
  | ({ readonly action: 'replace'; readonly extension: string } & Extract<CompactionDecision, { compaction: unknown }>)
