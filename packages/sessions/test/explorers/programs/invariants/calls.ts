import type { ProgramInvariant } from '../program-end.ts'

export const onceUnlessAsked: ProgramInvariant = {
  name: 'a call with effect once takes effect at most once, plus once for each request to run it again',
  check: ({ sessions, world, runAgain }) =>
    sessions.flatMap(({ calls }) =>
      calls.flatMap(({ effect, idempotencyKey, toolCallId, name }) => {
        const times = world.effects.filter((each) => each.idempotencyKey === idempotencyKey).length
        const most = 1 + (runAgain.get(toolCallId) ?? 0)
        return effect !== 'once' || times <= most
          ? []
          : [`${name} (${idempotencyKey}) took effect ${times} times, expected at most ${most}`]
      }),
    ),
}

export const decisionsAreTold: ProgramInvariant = {
  name: 'each log has the decision that was accepted',
  check: ({ sessions, decisions }) => {
    const approved = new Set(
      sessions.flatMap(({ calls }) => calls.flatMap(({ approval }) => (approval?.state === 'approved' ? approval.approvalId : []))),
    )
    return sessions.flatMap(({ record, log }) =>
      log.flatMap((event) => {
        if (event.type !== 'approval-resolved') return []
        const decision = decisions.get(event.approvalId)
        // A stop may cancel a call before the run reads the decision.
        if (!decision || event.decision === decision || (event.decision === 'cancelled' && !approved.has(event.approvalId))) return []
        return [`${record.key}: the accepted decision on ${event.approvalId} is ${decision}, but the log has ${event.decision}`]
      }),
    )
  },
}

export const decisionsHold: ProgramInvariant = {
  name: 'an accepted decision is carried out',
  check: ({ sessions, world, decisions }) =>
    sessions.flatMap(({ calls }) =>
      calls.flatMap(({ approval, idempotencyKey, name, status }) => {
        const decision = approval && decisions.get(approval.approvalId)
        const hasRun = world.effects.some((each) => each.idempotencyKey === idempotencyKey)
        if (decision === 'deny' && hasRun) return [`${name} (${idempotencyKey}) was denied, but took effect`]
        return decision === 'approve' && status === 'denied' ? [`${name} (${idempotencyKey}) was approved, but its status is denied`] : []
      }),
    ),
}
