import { toolCallOf } from '@bowline/agent-loop/events'
import type { RunView, Status, ViewMessage } from '@bowline/agent-loop/events'
import { toolLabel } from '../parts/tool-label.ts'
import { describeNext } from '../conversation/describe-retry.ts'
import type { Margins } from '../conversation/margins.ts'
import { speakable } from './speakable.ts'

/** Text for screen readers. `assertive` interrupts the current one: use it only for a question to the user. */
export interface Announcement {
  readonly text: string
  readonly urgency: 'polite' | 'assertive'
}

/** State from which announcements are made. */
export interface Heard {
  readonly view: RunView
  readonly margins: Margins
}

/**
 * Returns the announcements for a change of state: complete answers (never deltas), questions, retries, and the status of the run.
 * Without `before`, as after a load, returns only open questions. Errors are alerts in the page and announce themselves.
 */
export function announcementsBetween(before: Heard | undefined, now: Heard): readonly Announcement[] {
  const questions = questionsOf(now.view).filter(({ id }) => !before || !questionsOf(before.view).some((known) => known.id === id))
  return [
    ...(before ? [...newRetries(before, now), ...newMessages(before, now), ...newStatus(before.view, now.view)] : []).map(polite),
    ...questions.map(({ text }): Announcement => ({ text, urgency: 'assertive' })),
  ]
}

function polite(text: string): Announcement {
  return { text, urgency: 'polite' }
}

function newMessages({ view: before }: Heard, { view, margins }: Heard): readonly string[] {
  if (view.messages === before.messages) return []
  const known = new Set(before.messages.map((message) => message.id))
  return view.messages.filter((message) => !known.has(message.id)).flatMap((message) => spokenMessage(message, margins))
}

function spokenMessage(message: ViewMessage, margins: Margins): readonly string[] {
  if (message.role === 'user') return margins.steered.includes(message.id ?? '') ? ['The run has read what you said.'] : []
  if (message.role === 'tool-result' || message.stopReason === 'error' || message.stopReason === 'aborted') return []
  const text = speakable(message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n'))
  return text === '' ? [] : [`Answer: ${text}`]
}

function newRetries({ margins: before }: Heard, { margins }: Heard): readonly string[] {
  const { openRetry = '' } = margins
  const retries = margins.retries[openRetry] ?? []
  return retries
    .slice(before.retries[openRetry]?.length ?? 0)
    .map((retry) => `Attempt ${retry.attempt - 1} failed: ${retry.error.kind}. ${describeNext(retry)}`)
}

const statusWords: Partial<Readonly<Record<Status, string>>> = {
  running: 'The agent is at work.',
  completed: 'The run is complete.',
  stopped: 'The run has stopped.',
}

function newStatus(before: RunView, { status }: RunView): readonly string[] {
  const goesOn = status === 'running' && before.status === 'waiting-for-retry'
  const words = status && status !== before.status && !goesOn ? statusWords[status] : undefined
  return words === undefined ? [] : [words]
}

function questionsOf(view: RunView): readonly { readonly id: string; readonly text: string }[] {
  const { pendingToolCalls, pendingApprovals } = view
  const labelOf = ({ toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string }): string =>
    toolCallOf(view, toolCallId)?.label ?? toolLabel(toolName)
  return [
    ...pendingToolCalls.map((call) => ({
      id: `${call.toolCallId}/${call.unknown}`,
      text: call.unknown
        ? `${labelOf(call)}: nobody knows whether it happened. Decide in the conversation.`
        : `${labelOf(call)}: the agent waits for your answer in the conversation.`,
    })),
    ...pendingApprovals.map((request) => ({
      id: request.approvalId,
      text: `${labelOf(request)}: the agent asks for your approval in the conversation.`,
    })),
  ]
}
