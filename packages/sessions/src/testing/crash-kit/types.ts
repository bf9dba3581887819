import type { AgentOptions, CallContext, StoredMessage } from '@bowline/agent-loop'
import type { UserMessage } from '@bowline/llm'
import type { Runtime, RuntimeOptions } from '../../runtime/types.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import type {
  EntryRecord,
  InboxRecord,
  RunRecord,
  SessionRecord,
  StoredEvent,
  ToolCallRecord,
} from '../../contract/records.ts'

/** Fault at a point: the process dies, the answer of the store is lost, or the process freezes for a while. */
export type CrashMode = 'kill' | 'lost-response' | 'zombie'

/** A piece of work with a result that must be right wherever its process is disturbed. */
export interface CrashScenario {
  /**
   * The agents of one process, as for `defineAgent`. Called for each process: a scripted model knows how far it is, so
   * it belongs to one. Their tools write what they do outside into the world.
   */
  readonly agents: (world: World) => readonly AgentOptions[]
  /** A store over nothing. Called for each run of the scenario; each process opens it, also while a stopped one has it open. Default: a memory store. */
  readonly store?: () => SessionStore
  /** Makes the runtime of one process. Default: `createRuntime`. It must use what it is given. */
  readonly runtime?: (options: RuntimeOptions) => Runtime
  /**
   * What a client does, from its first input to its last result. Called for each process, so a client that comes back
   * begins anew: it must send its inputs under ids.
   */
  readonly drive: (runtime: Runtime, world: World) => Promise<void>
  /** Default: `standardInvariants`. */
  readonly invariants?: readonly Invariant[]
}

/** Effects and memory of clients, outside of the store. They survive every process. */
export interface World {
  /** Of all processes, in order. */
  readonly effects: readonly Effect[]
  /**
   * Writes down that a call took effect. Await it: in a process that is dead it never resolves, and a call whose signal
   * is aborted rejects without an effect.
   */
  effect(call: CallContext): Promise<void>
  /** Resolves when so much time has passed for this process. */
  sleep(ms: number): Promise<void>
  /** What an outside service answers that was asked about a key. */
  happened(idempotencyKey: string): boolean
  /** What clients remember. */
  readonly notes: Map<string, unknown>
}

type EffectCall = 'toolName' | 'toolCallId' | 'runId' | 'step' | 'idempotencyKey' | 'attempt'

/** A recorded side effect of a tool, with the process and the time (ms of the fake clock). */
export interface Effect extends Pick<CallContext, EffectCall> {
  readonly process: string
  readonly at: number
}

/** A condition on the end of a scenario. */
export interface Invariant {
  readonly name: string
  /** What is wrong; an empty list is right. */
  readonly check: (end: CrashEnd) => readonly string[]
}

/** Stores, clients and effects at the end of a scenario. */
export interface CrashEnd {
  readonly world: Pick<World, 'effects' | 'notes'>
  readonly sessions: readonly SessionEnd[]
  /** What clients were told. */
  readonly acknowledged: Acknowledged
  /** Writes of owners that had lost their run, and that the store took. */
  readonly staleWrites: readonly string[]
  /** Why it did not come to its end; absent when it did. */
  readonly stuck?: string
  /** The same without a crash; absent in that run itself. */
  readonly undisturbed?: CrashEnd
}

/** Stored records of one session at the end of a scenario. */
export interface SessionEnd {
  readonly record: SessionRecord
  readonly runs: readonly RunRecord[]
  readonly calls: readonly ToolCallRecord[]
  readonly log: readonly StoredEvent[]
  /** The active path, oldest first. */
  readonly path: readonly EntryRecord[]
  /** Of the active path. */
  readonly messages: readonly StoredMessage[]
  readonly inbox: readonly InboxRecord[]
}

/** Inputs and answers that the runtime had accepted when a client was told. */
export interface Acknowledged {
  /** Ids of runs whose input was accepted. */
  readonly runs: readonly string[]
  /** How often an answer was accepted as new, by tool call id or approval id. */
  readonly answers: ReadonlyMap<string, number>
  /** Inputs of sessions that no client has killed or deleted since. */
  readonly inputs: readonly AcknowledgedInput[]
}

/** An input of a client that was acknowledged. */
export interface AcknowledgedInput {
  readonly method: 'send' | 'steer' | 'followUp' | 'overlay'
  /** The key of its session. */
  readonly session: string
  /** As the client named it. */
  readonly inputId?: string
  /** The content of the message. */
  readonly content: UserMessage['content']
  /** For an overlay: the number of turns that see it. */
  readonly turns?: number
  /** False: the runtime knew it already. Always true for an overlay, of which the runtime does not say. */
  readonly isNew: boolean
}

/** Crash modes, depth, seed and time limit (ms of the fake clock) of `exploreCrashes`. */
export interface ExploreOptions {
  /** Default: all. */
  readonly modes?: readonly CrashMode[]
  /** 2: one more crash at each point of each recovery. Default 1. */
  readonly depth?: 1 | 2
  /** The `point` of a failure: only that one is tried. */
  readonly only?: string
  /** Of what is random. Default 1. */
  readonly seed?: number
  /** How long, by the fake clock, everything may take to come to rest. Default 600,000. */
  readonly restWithinMs?: number
}

/** Counts and failures of one exploration. No failures means that every invariant held. */
export interface CrashReport {
  /** Of the run without a crash. */
  readonly points: number
  /** How often the scenario was run. */
  readonly runs: number
  readonly failures: readonly CrashFailure[]
  /** What happened in the run without a crash. */
  readonly trace: readonly string[]
}

/** A broken invariant with the point that replays it. */
export interface CrashFailure {
  /** Replayed by `only`. */
  readonly point: string
  /** `none`: it fails without a crash. */
  readonly mode: CrashMode | 'none'
  readonly invariant: string
  readonly problems: readonly string[]
  /** What happened, in order. */
  readonly trace: readonly string[]
}
