import type { CompactionResult } from '@bowline/agent-loop'
import type { JSONObject } from '@bowline/llm'

export interface ForkOptions {
  /** The last entry that is copied. Default: the end of the present branch. */
  readonly entryId?: string
  /** Default: made from the key of this session. */
  readonly key?: string
  /** Default: that of this session. */
  readonly metadata?: JSONObject
}

export interface SwitchOptions {
  /** Have the way from the old end to the common ancestor summarised by the agent's model. Default false. */
  readonly summarize?: boolean
  /** Extra focus of the summary. */
  readonly instructions?: string
  /** Stops the summary. */
  readonly abortSignal?: AbortSignal
}

/** The end of a path: an entry that is nobody's parent. */
export interface Branch {
  readonly leaf: string
  /** On the path from the root. */
  readonly entries: number
  /** Of the leaf. */
  readonly at: number
  /** Of its last entry, labels apart. */
  readonly label?: string
  /** The active path ends here. None is active while that ends before the end of a branch. */
  readonly active: boolean
}

export interface Label {
  readonly entryId: string
  readonly text: string
  /** When it was given. */
  readonly at: number
}

export interface CompactOptions {
  /** Extra focus of the summary. */
  readonly instructions?: string
}

/** `entryId`: of the compaction in the tree, when one was stored. */
export type StoredCompaction = CompactionResult & { readonly entryId?: string }

export interface ExportOptions {
  /** The log too, as far as it is kept. Default false. */
  readonly events?: boolean
  /** The whole tree, not the active path alone. Default false. */
  readonly allBranches?: boolean
}

export interface ImportOptions {
  /** Default: that in the file. */
  readonly key?: string
  /** Calls without a result get the outcome `unknown`; else they are refused. Default false. */
  readonly repair?: boolean
  /** The owner of the new session. Default: none. */
  readonly owner?: string
  /** Default: that in the file. Tools see it as their `context`. */
  readonly metadata?: JSONObject
}
