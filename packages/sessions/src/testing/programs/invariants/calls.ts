import type { ProgramInvariant } from '../program-end.ts'

export const onceUnlessAsked: ProgramInvariant = {
  name: 'a tool with the effect once takes effect at most once, and once more when a client asks for it',
  check: ({ sessions, world, runAgain }) =>
    sessions.flatMap(({ calls }) =>
      calls.flatMap(({ effect, idempotencyKey, toolCallId, name }) => {
        const times = world.effects.filter((each) => each.idempotencyKey === idempotencyKey).length
        return effect !== 'once' || times <= 1 + (runAgain.get(toolCallId) ?? 0) ? [] : [`${name} (${idempotencyKey}) took effect ${times} times`]
      }),
    ),
}

export const decisionsAreTold: ProgramInvariant = {
  name: 'each log tells a decision as it was accepted',
  check: ({ sessions, decisions }) => {
    const approved = new Set(sessions.flatMap(({ calls }) => calls.flatMap(({ approval }) => (approval?.state === 'approved' ? approval.approvalId : []))))
    return sessions.flatMap(({ record, log }) =>
      log.flatMap((event) => {
        if (event.type !== 'approval-resolved') return []
        const decision = decisions.get(event.approvalId)
        // A stop may cancel a call before the run reads the decision.
        if (!decision || event.decision === decision || (event.decision === 'cancelled' && !approved.has(event.approvalId))) return []
        return [`${record.key}: ${event.approvalId} has the decision ${decision}, and the log says ${event.decision}`]
      }),
    )
  },
}

export const decisionsHold: ProgramInvariant = {
  name: 'a decision that was accepted holds',
  check: ({ sessions, world, decisions }) =>
    sessions.flatMap(({ calls }) =>
      calls.flatMap(({ approval, idempotencyKey, name, status }) => {
        const decision = approval && decisions.get(approval.approvalId)
        const hasRun = world.effects.some((each) => each.idempotencyKey === idempotencyKey)
        if (decision === 'deny' && hasRun) return [`${name} (${idempotencyKey}) was denied and took effect`]
        return decision === 'approve' && status === 'denied' ? [`${name} (${idempotencyKey}) was approved and is denied`] : []
      }),
    ),
}
