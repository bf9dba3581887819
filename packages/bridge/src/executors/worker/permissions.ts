import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { JSONValue } from '@bowline/llm'
import type { Answer, PendingInput } from '../../agent.ts'
import { BridgeError } from '../../errors.ts'

/** Unanswered permission requests of one prompt. */
export interface OpenPermissions {
  /** Resolves with the decision. Must never resolve with a permission that was not given. */
  ask(request: RequestPermissionRequest): Promise<RequestPermissionResponse>
  readonly pending: readonly PendingInput[]
  /** Returns false and uses no answer if one of the ids is unknown. Throws `PROTOCOL`. */
  answer(answers: readonly Answer[]): boolean
  /** Cancels all requests, because the prompt is over. */
  cancel(): void
}

export function createPermissions(onAsked: () => void): OpenPermissions {
  const open = new Map<
    string,
    { readonly input: PendingInput; readonly options: readonly PermissionOption[]; settle(response: RequestPermissionResponse): void }
  >()
  // A repeated answer to an earlier request is accepted: its sender may not know yet that it was answered.
  const answered = new Set<string>()
  let asked = 0
  let over = false

  return {
    ask({ toolCall, options }) {
      if (over) return Promise.resolve(cancelled)
      const id = `permission-${(asked += 1)}`
      const toolName = toolCall.name ?? toolCall.title ?? 'tool'
      const input: PendingInput = { id, kind: 'approval', toolName, input: (toolCall.rawInput ?? {}) as JSONValue }
      return new Promise((settle) => {
        open.set(id, { input, options, settle })
        onAsked()
      })
    },
    get pending() {
      return [...open.values()].map(({ input }) => input)
    },
    answer(answers) {
      if (!answers.every(({ id }) => open.has(id) || answered.has(id))) return false
      const decisions = answers.map((answer) => [answer.id, decisionOf(answer)] as const)
      for (const [id, decision] of decisions) {
        const request = open.get(id)
        open.delete(id)
        answered.add(id)
        request?.settle(decision === 'approve' ? allowed(request.options) : refused(request.options))
      }
      return true
    },
    cancel() {
      over = true
      for (const request of open.values()) request.settle(cancelled)
      open.clear()
    },
  }
}

const cancelled: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

/** Refuses the request. If the worker offers no option for that, cancels it. */
export function refused(options: readonly PermissionOption[]): RequestPermissionResponse {
  return choose(options, ['reject_once', 'reject_always'])
}

function allowed(options: readonly PermissionOption[]): RequestPermissionResponse {
  return choose(options, ['allow_once', 'allow_always'])
}

function choose(options: readonly PermissionOption[], kinds: readonly PermissionOption['kind'][]): RequestPermissionResponse {
  const chosen = kinds.flatMap((kind) => options.filter((option) => option.kind === kind))[0]
  return chosen ? { outcome: { outcome: 'selected', optionId: chosen.optionId } } : cancelled
}

function decisionOf(answer: Answer): 'approve' | 'deny' {
  if ('decision' in answer && answer.input === undefined) return answer.decision
  const issues = [{ path: 'answers', id: answer.id, message: 'accepts only approve or deny' }]
  throw new BridgeError('PROTOCOL', `A request for permission accepts only approve or deny`, { details: { issues } })
}
