import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { JSONValue } from '@bowline/llm'
import type { Answer, PendingInput } from '../../agent.ts'
import { BridgeError } from '../../errors.ts'

/** The requests for permission of one prompt that nobody has answered yet. */
export interface OpenPermissions {
  /** Resolves with the decision. It must never be allowed without one. */
  ask(request: RequestPermissionRequest): Promise<RequestPermissionResponse>
  readonly pending: readonly PendingInput[]
  /** False when one of the ids is not known here; then none is taken. Throws `PROTOCOL`. */
  answer(answers: readonly Answer[]): boolean
  /** The prompt is over. */
  cancel(): void
}

export function createPermissions(onAsked: () => void): OpenPermissions {
  const open = new Map<string, { readonly input: PendingInput; readonly options: readonly PermissionOption[]; settle(response: RequestPermissionResponse): void }>()
  // What was asked before may be answered once more, by somebody who was told late.
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

/** A refusal; without an option that says so the call is cancelled. */
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
  const issues = [{ path: 'answers', id: answer.id, message: 'takes approve or deny, and no other input' }]
  throw new BridgeError('PROTOCOL', `A request for permission takes approve or deny, and no other input`, { details: { issues } })
}
