import type { CompactionResult } from '@bowline/agent-loop'
import type { JSONObject } from '@bowline/llm'

/** End of the copied path, and key and metadata of the new session. */
export interface ForkOptions {
  /** Last entry to copy. Default: the end of the active path. */
  readonly entryId?: string
  /** Key of the new session. Default: made from the key of this session. */
  readonly key?: string
  /** Metadata of the new session. Default: the metadata of this session. */
  readonly metadata?: JSONObject
}

/** Options of the summary of the abandoned path. Default: no summary. */
export interface SwitchOptions {
  /** If true, the agent's model summarises the path from the old end to the common ancestor. Default false. */
  readonly summarize?: boolean
  /** Extra focus of the summary. */
  readonly instructions?: string
  /** Aborts the summary. */
  readonly abortSignal?: AbortSignal
}

/** A path of the transcript tree, named by its last entry, which has no children. `at` is epoch milliseconds. */
export interface Branch {
  /** Id of the last entry, which has no children. */
  readonly leaf: string
  /** Number of entries from the root to the leaf. */
  readonly entries: number
  /** Time of the last entry, in epoch milliseconds. */
  readonly at: number
  /** Label of the last entry that is not itself a label. */
  readonly label?: string
  /** True if the active path ends here. No branch is active if that path ends before a leaf. */
  readonly active: boolean
}

/** Label of an entry. `at` is epoch milliseconds. */
export interface Label {
  readonly entryId: string
  readonly text: string
  /** Time at which it was set. */
  readonly at: number
}

/** Instructions for the summary of a compaction. */
export interface CompactOptions {
  /** Extra focus of the summary. */
  readonly instructions?: string
}

/** Result of a compaction. `entryId` names its entry in the tree and is absent if none was stored. */
export type StoredCompaction = CompactionResult & { readonly entryId?: string }

/** Parts of a session that an export holds. Default: the active path without the log. */
export interface ExportOptions {
  /** If true, includes the kept part of the log. Default false. */
  readonly events?: boolean
  /** If true, includes the whole tree instead of the active path only. Default false. */
  readonly allBranches?: boolean
}

/** Key, owner and metadata of an imported session, and whether open calls are repaired. */
export interface ImportOptions {
  /** Key of the new session. Default: the key in the file. */
  readonly key?: string
  /** If true, calls without a result get the outcome `unknown`. Otherwise they are refused. Default false. */
  readonly repair?: boolean
  /** Owner of the new session. Default: none. */
  readonly owner?: string
  /** Metadata of the new session, which tools see as their `context`. Default: the metadata in the file. */
  readonly metadata?: JSONObject
}
