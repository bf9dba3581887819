import type { AgentOptions, CallContext, StoredMessage } from '@bowline/agent-loop'
import type { UserMessage } from '@bowline/llm'
import type {
  EntryRecord,
  InboxRecord,
  RunRecord,
  Runtime,
  RuntimeOptions,
  SessionRecord,
  SessionStore,
  StoredEvent,
  ToolCallRecord,
} from '@bowline/sessions'

/** Fault at a point: the process dies, or it freezes for a while. */
export type CrashMode = 'kill' | 'zombie'

/** Work whose result must be correct wherever its process is disturbed. */
export interface CrashScenario {
  /**
   * Returns the agents of one process, as for `defineAgent`. Called for each process, because a scripted model keeps its
   * position. Tools record their outside effects in the world.
   */
  readonly agents: (world: World) => readonly AgentOptions[]
  /**
   * Returns an empty store. Called for each run of the scenario. Each process opens it, even while a stopped process has it
   * open. Default: a memory store.
   */
  readonly store?: () => SessionStore
  /** Creates the runtime of one process from the given options. Default: `createRuntime`. */
  readonly runtime?: (options: RuntimeOptions) => Runtime
  /**
   * Script of a client, from its first input to its last result. Called for each process, so a returning client starts again
   * and must send its inputs under ids.
   */
  readonly drive: (runtime: Runtime, world: World) => Promise<void>
  /** Default: `standardInvariants`. */
  readonly invariants?: readonly Invariant[]
}

/** Effects and memory of clients, outside of the store. They survive every process. */
export interface World {
  /** Effects of all processes, in order. */
  readonly effects: readonly Effect[]
  /**
   * Records that a call took effect. Await it: in a dead process it never resolves. If the signal of the call is aborted, it
   * rejects without an effect.
   */
  effect(call: CallContext): Promise<void>
  /** Resolves after this time, in ms, has passed for this process. */
  sleep(ms: number): Promise<void>
  /** Returns whether the effect with this key happened, as an outside service would. */
  happened(idempotencyKey: string): boolean
  /** Memory of the clients. */
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
  /** Returns the problems; an empty list means that the invariant holds. */
  readonly check: (end: CrashEnd) => readonly string[]
}

/** Stores, clients and effects at the end of a scenario. */
export interface CrashEnd {
  readonly world: Pick<World, 'effects' | 'notes'>
  readonly sessions: readonly SessionEnd[]
  /** Acknowledgements that clients received. */
  readonly acknowledged: Acknowledged
  /** Number of model calls of all processes. Absent: it was not counted. */
  readonly modelCalls?: number
  /** Writes of owners that had lost their run, but that the store accepted. */
  readonly staleWrites: readonly string[]
  /** Reason why the scenario did not end. Absent: it ended. */
  readonly stuck?: string
  /** End of the same scenario without a crash or fault. Absent in that run itself. */
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
  /** Messages of the active path. */
  readonly messages: readonly StoredMessage[]
  readonly inbox: readonly InboxRecord[]
}

/** Inputs and answers that the runtime had accepted when it acknowledged them. */
export interface Acknowledged {
  /** Ids of runs whose input was accepted. */
  readonly runs: readonly string[]
  /** Number of times an answer was accepted as new, by tool call id or approval id. */
  readonly answers: ReadonlyMap<string, number>
  /** Inputs of sessions that no client has killed or deleted later. */
  readonly inputs: readonly AcknowledgedInput[]
}

/** An input of a client that was acknowledged. */
export interface AcknowledgedInput {
  readonly method: 'send' | 'steer' | 'followUp' | 'overlay'
  /** Key of its session. */
  readonly session: string
  /** Id that the client gave. */
  readonly inputId?: string
  /** The content of the message. */
  readonly content: UserMessage['content']
  /** For an overlay: the number of turns that see it. */
  readonly turns?: number
  /** False if the runtime reported a repeat. Always true for an overlay, because the runtime does not report repeats of it. */
  readonly isNew: boolean
}

/**
 * Fault of one call to a store while the process lives on. `unavailable`: the store does not get the call. `answer-lost`: it
 * executes the call. In both cases the process gets `store-unavailable`. `full`: a call that writes gets `store-full`. `away`: this
 * call and all others get `store-unavailable` for 2,000 ms of the fake clock.
 */
export type StoreFault = 'unavailable' | 'answer-lost' | 'full' | 'away'

/** Faults, numbers, seed and time limit (ms of the fake clock) of `exploreStoreFaults`. */
export interface ExploreStoreFaultsOptions {
  /** Default: all. */
  readonly faults?: readonly StoreFault[]
  /** Number of single faults, which the seed draws. Default: each fault of each call. */
  readonly singles?: number
  /** Number of pairs of faults, which the seed draws. Default 0. */
  readonly pairs?: number
  /** Tries only this `point` of a failure. */
  readonly only?: string
  /** Seed of all random numbers. Default 1. */
  readonly seed?: number
  /** Time limit for coming to rest, in ms of the fake clock. Default 600,000. */
  readonly restWithinMs?: number
}

/** Counts and failures of one exploration. No failures means that every invariant held. */
export interface StoreFaultReport {
  /** Number of calls to the store in the undisturbed run. */
  readonly calls: number
  /** Number of runs of the scenario. */
  readonly runs: number
  readonly failures: readonly StoreFaultFailure[]
  /** Trace of the undisturbed run. */
  readonly trace: readonly string[]
}

/** A broken invariant with the faults that replay it. Without a fault, `point` is empty. */
export type StoreFaultFailure = Omit<CrashFailure, 'mode'>

/** Crash modes, depth, seed and time limit (ms of the fake clock) of `exploreCrashes`. */
export interface ExploreOptions {
  /** Default: all modes. */
  readonly modes?: readonly CrashMode[]
  /** 2: crashes once more at each point of each recovery. Default 1. */
  readonly depth?: 1 | 2
  /** Tries only this `point` of a failure. */
  readonly only?: string
  /** Seed of all random numbers. Default 1. */
  readonly seed?: number
  /** Time limit for coming to rest, in ms of the fake clock. Default 600,000. */
  readonly restWithinMs?: number
}

/** Counts and failures of one exploration. No failures means that every invariant held. */
export interface CrashReport {
  /** Number of points in the run without a crash. */
  readonly points: number
  /** Number of runs of the scenario. */
  readonly runs: number
  readonly failures: readonly CrashFailure[]
  /** Trace of the run without a crash. */
  readonly trace: readonly string[]
}

/** A broken invariant with the point that replays it. */
export interface CrashFailure {
  /** Replay it with `only`. */
  readonly point: string
  /** `none`: the invariant is broken without a crash. */
  readonly mode: CrashMode | 'none'
  readonly invariant: string
  readonly problems: readonly string[]
  /** Trace of the run, in order. */
  readonly trace: readonly string[]
}
