import { withFacts } from '../error-body.ts'
import { BridgeError } from '../errors.ts'
import { namesOf } from '../missing-agent.ts'
import type { BridgeView } from './bridge-view.ts'

/** Maximum number of sessions or requests that an error lists. */
const shown = 5

/**
 * Returns the error for a model: with the ids of its call, whether its session accepts prompts, and, if the call named an unknown
 * id, the existing ones. Looks up facts that the error lacks.
 */
export async function withCallFacts(bridge: BridgeView, error: unknown, input: unknown): Promise<BridgeError> {
  const told = BridgeError.isInstance(error) ? error : new BridgeError('INTERNAL', 'Internal error')
  // The request id is left out: a refused request does not exist, even if the caller chose its id.
  const { sessionId, agentId } = idsIn(input)
  const sessionValid = told.details.sessionValid ?? (await takesPrompts(bridge, sessionId))
  const placed = withFacts(told, { sessionId, agentId, sessionValid })
  const listed = await alternatives(bridge, placed).catch(() => '')
  if (listed === '') return placed
  return new BridgeError(placed.code, `${placed.message}; ${listed}`, { retryable: placed.retryable, details: placed.details })
}

type Ids = { readonly [Name in 'sessionId' | 'agentId']?: string }

function idsIn(input: unknown): Ids {
  if (typeof input !== 'object' || input === null) return {}
  return Object.fromEntries(
    ['sessionId', 'agentId'].flatMap((name) => {
      const id = (input as Readonly<Record<string, unknown>>)[name]
      return typeof id === 'string' ? [[name, id]] : []
    }),
  )
}

async function takesPrompts(bridge: BridgeView, sessionId: string | undefined): Promise<boolean> {
  if (sessionId === undefined || sessionId === '') return false
  return bridge.session(sessionId).then(
    ({ status }) => status !== 'failed',
    () => false,
  )
}

/** Lists what the caller has of the kind that was not found. */
async function alternatives(bridge: BridgeView, { details }: BridgeError): Promise<string> {
  switch (details.reason) {
    case 'no-session': {
      const { sessions } = await bridge.sessions({ limit: shown })
      return listOf(
        'sessions',
        sessions.map(({ sessionId, agentId, status }) => `${sessionId} (${agentId}, ${status})`),
      )
    }
    case 'no-request': {
      const { requests } = await bridge.requests({ limit: shown })
      return listOf(
        'requests',
        requests.map(({ requestId, agentId, status }) => `${requestId} (${agentId}, ${status})`),
      )
    }
    default:
      return isAboutAgent(details.issues) ? `the agents are ${namesOf(bridge.discover().map(({ id }) => id))}` : ''
  }
}

function listOf(what: string, entries: readonly string[]): string {
  return entries.length === 0 ? `you have no ${what}` : `your newest ${what} are ${entries.join(', ')}`
}

/** Returns whether the agent id is invalid. Such an agent cannot exist. */
function isAboutAgent(issues: BridgeError['details']['issues'] = []): boolean {
  return issues.some((issue) => ['agentId', 'workerId'].includes((issue as { readonly path?: string } | null)?.path ?? ''))
}
