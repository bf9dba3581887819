import { describeRoutes } from '../http/openapi.ts'
import type { RouteOptions } from '../options.ts'
import type { Services } from '../services.ts'
import { approvalRoute } from './approvals.ts'
import { chatRoutes } from './chat.ts'
import { recoverRoute, resolveRoute, stopRoute, toolResultsRoute } from './control.ts'
import { eventsRoute } from './events.ts'
import { executeRoute } from './execute.ts'
import { exportRoute } from './export.ts'
import { followUpRoute, overlayRoute, steerRoute } from './input.ts'
import { mcpRoutes } from './mcp.ts'
import { agentsRoute, healthRoute, identityRoute, metricsRoute, openApiRoute, readyRoute, spendingRoute } from './operations.ts'
import type { Route } from './route.ts'
import { deleteSessionRoute, listSessionsRoute, readSessionRoute } from './sessions.ts'
import { modelRequestRoutes } from './model-requests.ts'
import { noticeRoutes } from './notices.ts'
import { scheduleRoutes } from './schedules.ts'
import { ticketRoute } from './ticket.ts'
import { branchesRoute, compactRoute, forkRoute, labelRoute, labelsRoute, switchRoute } from './tree.ts'

/** Returns all routes that are enabled. */
export function allRoutes(services: Services, basePath: string, options: RouteOptions = {}): readonly Route[] {
  const { openapi = true, metrics = true, chat = true, mcp = true } = options
  const routes: Route[] = [
    executeRoute(services),
    readSessionRoute(services),
    deleteSessionRoute(services),
    eventsRoute(services),
    ticketRoute(services),
    stopRoute(services),
    steerRoute(services),
    followUpRoute(services),
    overlayRoute(services),
    toolResultsRoute(services),
    approvalRoute(services),
    resolveRoute(services),
    recoverRoute(services),
    forkRoute(services),
    switchRoute(services),
    branchesRoute(services),
    labelRoute(services),
    labelsRoute(services),
    compactRoute(services),
    ...scheduleRoutes(services),
    ...noticeRoutes(services),
    ...(services.requests ? modelRequestRoutes(services, services.requests) : []),
    exportRoute(services),
    listSessionsRoute(services),
    agentsRoute(services),
    identityRoute(),
    ...(services.runtime.hasTenantBudget ? [spendingRoute(services)] : []),
    ...(chat ? chatRoutes(services) : []),
    healthRoute(),
    readyRoute(services),
    ...(mcp && services.mcp ? mcpRoutes(services, services.mcp) : []),
    ...(metrics && services.metrics ? [metricsRoute(services.metrics)] : []),
  ]
  if (!openapi) return routes
  let document: object | undefined
  const openApi: Route = openApiRoute(() => (document ??= describeRoutes([...routes, openApi], basePath)))
  return [...routes, openApi]
}
