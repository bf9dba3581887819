import type { SessionSummary, SessionView } from '@bowline/client'
import type { RunInfo, SessionInfo } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { isOfTenant, sessionIdOf } from '../session-keys.ts'
import { messagesQuery } from '../wire/session-requests.ts'
import type { ReadableSession } from './owned-session.ts'

/** Time after which a view is refused, in ms. */
const longestMs = 10_000

/**
 * Returns the view of a session at one moment. Session and messages are two reads, repeated until no event came between them. Throws
 * `store-unavailable` if events come faster than the store answers for 10 s.
 */
export async function viewOf(
  services: Services,
  principal: Principal,
  { session, info: found }: ReadableSession,
  page: { readonly limit: number; readonly before?: string } = messagesQuery.parse({}),
): Promise<SessionView> {
  const untilMs = services.clock.now() + longestMs
  let info = found
  for (;;) {
    const { items, next, cursor } = await session.messages(page)
    if (cursor === info.cursor) {
      const { openRun, usage, cost, children, total } = info
      return {
        ...summaryOf(info, principal),
        messages: items,
        hasMore: next !== undefined,
        pendingToolCalls: openRun?.pendingToolCalls ?? [],
        pendingApprovals: openRun?.pendingApprovals ?? [],
        ...(openRun && { run: runOf(openRun) }),
        ...(openRun?.heldRuns && { heldRuns: openRun.heldRuns }),
        usage,
        ...(cost && { cost }),
        children,
        total,
        cursor,
        ...(await orchestrationOf(services, info)),
      }
    }
    if (services.clock.now() >= untilMs)
      throw new ProblemError('store-unavailable', 'The session changes faster than the store answers. Retry later.')
    info = (await session.info()) ?? info
  }
}

export function summaryOf(info: SessionInfo, { tenant }: Principal): SessionSummary {
  const { key, agent, status, outcome, createdAt, activeAt, metadata, parent, forkedFrom, expiresAt, expiredAt } = info
  return {
    sessionId: sessionIdOf(tenant, key),
    agent,
    ...(status && { status }),
    ...(outcome && { outcome }),
    createdAt,
    updatedAt: activeAt,
    metadata,
    ...(parent !== undefined && { parent: sessionIdOf(tenant, parent) }),
    // The operator may have copied it from any session.
    ...(forkedFrom &&
      isOfTenant(tenant, forkedFrom.key) && {
        forkedFrom: { sessionId: sessionIdOf(tenant, forkedFrom.key), entryId: forkedFrom.entryId },
      }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(expiredAt !== undefined && { expiredAt }),
  }
}

function runOf({ runId, status, outcome, attempts }: RunInfo): NonNullable<SessionView['run']> {
  return { runId, status, ...(outcome && { outcome }), attempts }
}

async function orchestrationOf(
  { orchestration, runtime }: Services,
  { key, agent: name }: SessionInfo,
): Promise<Pick<SessionView, 'orchestration'>> {
  const state = await orchestration?.getState(key)
  if (!orchestration || !state) return {}
  const offered = runtime.agents.find((agent) => agent.name === name)?.tools.map((tool) => tool.name) ?? []
  const { tools } = await orchestration.allowedTools(key, offered)
  const { activeStep: step, sequenceIndex } = state
  return { orchestration: { ...(step !== undefined && { step }), sequenceIndex, tools } }
}
