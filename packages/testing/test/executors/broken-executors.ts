import { BridgeError, inProcessExecutor } from '@bowline/bridge'
import type { BridgeAgent, BridgeEvent, BridgeExecutor, ExecutorLimits } from '@bowline/bridge'

export interface BrokenExecutor {
  readonly fault: string
  /** A rule whose test must catch the fault. */
  readonly rule: string
  readonly over: (agent: BridgeAgent, limits: ExecutorLimits) => BridgeExecutor
}

/** The fault: members that replace those of a working executor. */
type Change = (executor: BridgeExecutor) => Partial<BridgeExecutor>

function broken(fault: string, rule: string, change: Change): BrokenExecutor {
  return {
    fault,
    rule,
    over(agent, limits) {
      const executor = inProcessExecutor({ agents: [agent], ...limits })
      return { ...executor, ...change(executor) }
    },
  }
}

export const brokenExecutors: readonly BrokenExecutor[] = [
  {
    fault: 'closes sessions twice',
    rule: 'B18',
    over: (agent, limits) => inProcessExecutor({ agents: [closedTwice(agent)], ...limits }),
  },
  broken('never closes sessions', 'B18', () => ({ close: async () => {} })),
  broken('does not wait until the agent has let a session in', 'B11', ({ open }) => ({
    open: async (session, how) => void open(session, how).catch(() => {}),
  })),
  broken('does not tell the agent to stop', 'B46', () => ({ cancel: async () => {} })),
  broken('does not hand on the signal', 'B43', ({ prompt }) => ({
    prompt: (request) => prompt({ ...request, abortSignal: new AbortController().signal }),
  })),
  broken('loses metadata', 'B13', ({ prompt }) => ({
    prompt: (request) => prompt({ ...request, session: { ...request.session, metadata: {} } }),
  })),
  broken('keeps parameters for the next prompt', 'B37', ({ prompt }) => {
    let kept = {}
    return { prompt: (request) => prompt({ ...request, runtimeParams: (kept = { ...kept, ...request.runtimeParams }) }) }
  }),
  broken('passes text on, and nothing else', 'B32', ({ prompt }) => ({ prompt: (request) => mapped(prompt(request), textOnly) })),
  broken('swallows progress', 'B42', ({ prompt }) => ({
    prompt: (request) => mapped(prompt(request), (event) => (event.type === 'progress' ? [] : [event])),
  })),
  broken('loses answers', 'B40', () => ({ answer: async () => true })),
  broken('tells what the agent threw', 'B34', ({ prompt }) => ({ prompt: (request) => told(prompt(request)) })),
  broken('keeps the session of a cancelled prompt stopped', 'B48', ({ cancel, prompt }) => {
    const stopped = new Set<string>()
    return {
      cancel: (request) => {
        stopped.add(request.session.sessionId)
        return cancel(request)
      },
      prompt: (request) => prompt(stopped.has(request.session.sessionId) ? { ...request, prompt: 'fail' } : request),
    }
  }),
  broken('leaves a timer behind', 'B10', ({ start }) => ({
    start(host) {
      host.clock.setTimer(host.clock.now() + 3_600_000, () => {})
      return start(host)
    },
  })),
]

function closedTwice(agent: BridgeAgent): BridgeAgent {
  return {
    ...agent,
    async onSessionClose(session, reason) {
      await agent.onSessionClose?.(session, reason)
      await agent.onSessionClose?.(session, reason)
    },
  }
}

async function* mapped(
  events: AsyncIterable<BridgeEvent>,
  map: (event: BridgeEvent) => readonly BridgeEvent[],
): AsyncGenerator<BridgeEvent> {
  for await (const event of events) yield* map(event)
}

function textOnly(event: BridgeEvent): readonly BridgeEvent[] {
  if (event.type !== 'result') return [event]
  const { text, stopReason, pending } = event.result
  return [{ type: 'result', result: { text, stopReason, ...(pending && { pending }) } }]
}

async function* told(events: AsyncIterable<BridgeEvent>): AsyncGenerator<BridgeEvent> {
  try {
    yield* events
  } catch (error) {
    throw BridgeError.isInstance(error) ? error : new BridgeError('UPSTREAM', String(error))
  }
}
