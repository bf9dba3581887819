import fc from 'fast-check'
import { AgentError } from '../../src/index.ts'
import type { AgentInput, ChildHost, ChildOutcome, ChildRequest } from '../../src/index.ts'
import { aborted } from './function-streams.ts'
import type { World } from './world.ts'

const hostActs = [
  'end',
  'end',
  'later',
  'fail',
  'limit',
  'launch',
  'wait',
  'wait-below',
  'ask',
  'ask-and-wait',
  'reject',
  'throw',
  'hang',
  'deaf',
  'fenced',
] as const
type HostAct = (typeof hostActs)[number]

/** The plan of a journal that runs subagents in its own way. */
export interface HostPlan {
  readonly sessionKeys: boolean
  readonly background: boolean
  /** The acts of the subagents, one after the other. Each acts `asks` times before it ends. */
  readonly children: readonly { readonly act: HostAct; readonly asks: number }[]
}

export const hostPlan: fc.Arbitrary<HostPlan> = fc.record({
  sessionKeys: fc.boolean(),
  background: fc.boolean(),
  children: fc.array(fc.record({ act: fc.constantFrom(...hostActs), asks: fc.integer({ min: 1, max: 2 }) }), {
    minLength: 1,
    maxLength: 6,
  }),
})

export function hostStandsStill({ children }: HostPlan): boolean {
  return children.some(({ act }) => act === 'hang' || act === 'deaf')
}

interface Hosted {
  readonly input: AgentInput
  readonly act: HostAct
  left: number
  /** Its final outcome. */
  end: ChildOutcome | undefined
}

/** Creates a host that outlives the processes: for a known key it returns the state of the first start. */
export function plannedHost(world: World, { sessionKeys, background, children }: HostPlan): ChildHost {
  const hosted = new Map<string, Hosted>()
  return {
    sessionKeys,
    background,
    start(request) {
      world.signals.add(request.abortSignal)
      world.beat()
      checkRequest(world, request, { sessionKeys, background }, hosted.get(request.key))
      const { act, asks } = children[hosted.size % children.length] ?? { act: 'end', asks: 1 }
      const child = hosted.get(request.key) ?? { input: request.input, act, left: asks, end: undefined }
      hosted.set(request.key, child)
      if (child.act === 'throw' && !child.end && child.left-- > 0) throw new Error('the host broke')
      return answer(world, request, child)
    },
  }
}

function checkRequest(
  world: World,
  request: ChildRequest,
  offers: Pick<HostPlan, 'sessionKeys' | 'background'>,
  known: Hosted | undefined,
): void {
  const { agent, key, input, toolCallId, runId, background, sessionKey } = request
  world.claim(agent === 'helper' && key === `${runId}/${toolCallId}`, `A164: ${key} is not the key of ${toolCallId} of ${runId}`)
  world.claim(!known || JSON.stringify(known.input) === JSON.stringify(input), `A173: ${key} comes again with another input`)
  world.claim(offers.background || !background, `A161: ${key} is to run in the background`)
  world.claim(offers.sessionKeys || sessionKey === undefined, `A161: ${key} has a session key`)
}

async function answer(world: World, request: ChildRequest, child: Hosted): Promise<ChildOutcome> {
  if (child.end) return child.end
  if (request.abortSignal.aborted) return (child.end = ended(request, 'aborted'))
  if (child.left <= 0) return (child.end = ended(request, 'completed'))
  child.left--
  const outcome = await acts[child.act](world, request)
  if (outcome.kind !== 'pending') child.end = outcome
  return outcome
}

type Act = (world: World, request: ChildRequest) => ChildOutcome | Promise<ChildOutcome>

const acts: Readonly<Record<HostAct, Act>> = {
  end: (_world, request) => ended(request, 'completed'),
  later: async (world, request) => {
    await world.sleep(30)
    return ended(request, 'completed')
  },
  fail: (_world, request) =>
    ({ ...ended(request, 'error'), error: { code: 'journal-failed', message: 'it could not be stored' } }) as ChildOutcome,
  limit: (_world, request) => ended(request, 'limit'),
  launch: (_world, { key }) => ({ kind: 'launched', childRunId: `hosted/${key}`, taskId: 'a task' }),
  wait: (_world, request) => pending(request, { calls: true }),
  'wait-below': (_world, request) => pending(request, { calls: true, path: ['below'], agent: ['grandchild'] }),
  ask: (_world, request) => pending(request, { asks: true }),
  'ask-and-wait': (_world, request) => pending(request, { calls: true, asks: true }),
  reject: () => Promise.reject(new Error('no room')),
  throw: (_world, request) => ended(request, 'completed'),
  hang: async (_world, request) => {
    await aborted(request.abortSignal)
    return ended(request, 'aborted')
  },
  deaf: () => new Promise(() => {}),
  fenced: () => Promise.reject(new AgentError('fenced', 'another process has taken over the run')),
}

function ended({ key }: ChildRequest, status: 'completed' | 'aborted' | 'error' | 'limit'): ChildOutcome {
  return {
    kind: 'ended',
    childRunId: `hosted/${key}`,
    status,
    text: 'so it is',
    steps: 2,
    usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 },
  }
}

interface Waiting {
  readonly calls?: true
  readonly asks?: true
  readonly path?: readonly string[]
  readonly agent?: readonly string[]
}

function pending({ key }: ChildRequest, { calls, asks, path = [], agent = [] }: Waiting): ChildOutcome {
  const call = (toolCallId: string) => ({ toolCallId, toolName: 'far', input: {}, path, agent })
  return {
    kind: 'pending',
    childRunId: `hosted/${key}`,
    pendingToolCalls: calls ? [call(`far/${key}`)] : [],
    pendingApprovals: asks ? [{ ...call(`asked/${key}`), approvalId: `approval/${key}`, inputHash: 'hash' }] : [],
  }
}
