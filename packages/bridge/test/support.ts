import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import { BridgeError, createBridge, defineBridgeAgent, inProcessExecutor } from '../src/index.ts'
import type {
  Bridge,
  BridgeAgent,
  BridgeExecutor,
  BridgeLogger,
  BridgeOptions,
  BridgeResult,
  LogFields,
  PromptResult,
} from '../src/index.ts'

export interface LogLine {
  readonly level: keyof BridgeLogger
  readonly message: string
  readonly fields: LogFields
}

export function recordingLogger(): BridgeLogger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const write = (level: keyof BridgeLogger) => (fields: LogFields, message: string) => void lines.push({ level, message, fields })
  return { lines, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

export type AgentParts = Partial<BridgeAgent>

/** An agent that answers `<id>: <prompt>` by default. */
export function testAgent(id: string, parts: AgentParts = {}): BridgeAgent {
  return defineBridgeAgent({
    specificationVersion: 'v1',
    info: { id },
    onPrompt: ({ prompt }) => answer(`${id}: ${prompt}`),
    ...parts,
  })
}

export function answer(text: string): PromptResult {
  return { text, stopReason: 'end_turn' }
}

export interface TestBridge {
  readonly bridge: Bridge
  readonly clock: ManualClock
  readonly logger: ReturnType<typeof recordingLogger>
}

/** Starts a bridge over in-process agents, with a manual clock. */
export async function startBridge(agents: readonly BridgeAgent[], options: BridgeOptions = {}): Promise<TestBridge> {
  const clock = manualClock(1000)
  const logger = recordingLogger()
  const bridge = createBridge({ executors: [inProcessExecutor({ agents })], clock, logger, ...options })
  await bridge.start()
  return { bridge, clock, logger }
}

/** Like `startBridge`, for these executors. Options may come first. */
export async function startBridgeOf(...given: readonly [BridgeOptions | BridgeExecutor, ...BridgeExecutor[]]): Promise<TestBridge> {
  const isExecutor = (each: BridgeOptions | BridgeExecutor): each is BridgeExecutor => 'specificationVersion' in each
  const options = given.find((each): each is BridgeOptions => !isExecutor(each))
  return startBridge([], { executors: given.filter(isExecutor), ...options })
}

export function failureOf(result: BridgeResult): BridgeError {
  if (result.ok) throw new Error(`expected a failure, got ${JSON.stringify(result)}`)
  return result.error
}

export function outcomeOf(result: BridgeResult): Extract<BridgeResult, { ok: true }> {
  if (!result.ok) throw result.error
  return result
}

/** Returns the error code of a refusal. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!BridgeError.isInstance(error)) throw new Error('expected a BridgeError')
  return error.code
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

export const never = new Promise<never>(() => {})
