import type { OpenMessage, ViewMessage } from '@bowline/agent-loop/events'
import { Bell, Clock, CornerDownRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { Markdown } from './markdown.tsx'
import { PlainText } from './plain-text.tsx'
import { Reasoning } from './reasoning.tsx'

type UserMessage = Extract<ViewMessage, { role: 'user' }>
type AssistantMessage = Extract<ViewMessage, { role: 'assistant' }>

export function UserBubble({ message, steered }: { readonly message: UserMessage; readonly steered: boolean }) {
  return (
    <>
      <div className="flex justify-end" data-testid="user">
        <p className={bubble}>
          <PlainText text={textOf(message)} />
        </p>
      </div>
      {steered && (
        <p data-testid="steered" className={caption}>
          <CornerDownRight className="size-3.5" aria-hidden="true" />
          Read by the run while it was at work.
        </p>
      )}
    </>
  )
}

/** Message that no user wrote, such as a report of background work. It expands to show the text for the model. */
export function Notice({ message }: { readonly message: UserMessage }) {
  const text = textOf(message)
  const task = /<background-task\b[^>]*\bagent="([^"]*)"[^>]*\bstatus="([^"]*)"/.exec(text)
  return (
    <details data-testid="user" data-notice="true" className="group rounded-xl border border-line bg-sunken text-sm text-ink-soft">
      <summary className="flex list-none items-center gap-2 rounded-xl px-4 py-2">
        <Bell className="size-4 shrink-0" aria-hidden="true" />
        {task ? `Background work of ${task[1]} is ${task[2]}. The model is told.` : 'The model is told something that nobody typed.'}
      </summary>
      <p className="border-t border-line px-4 py-2 font-mono text-xs break-words whitespace-pre-wrap" data-text>
        <PlainText text={text} />
      </p>
    </details>
  )
}

/** Input that is not in the conversation yet. */
export function PendingBubble({ text, fate }: { readonly text: string; readonly fate?: string | undefined }) {
  return (
    <div data-testid="pending-input">
      <div className="flex justify-end">
        <p className={`${bubble} border border-dashed border-accent`}>
          <PlainText text={text} />
        </p>
      </div>
      {fate !== undefined && (
        <p className={caption}>
          <Clock className="size-3.5" aria-hidden="true" />
          {fate}
        </p>
      )}
    </div>
  )
}

const bubble = 'max-w-[85%] rounded-2xl rounded-br-md bg-accent-soft px-4 py-2 break-words whitespace-pre-wrap'
const caption = 'mt-1 flex items-center justify-end gap-1.5 text-xs text-ink-soft'

interface AnswerProps {
  /** Renders the card of a call. There is one card per call of the answer, in order. */
  readonly renderCall: (toolCallId: string) => ReactNode
}

/** Complete answer. */
export function Answer({ message, renderCall }: AnswerProps & { readonly message: AssistantMessage }) {
  const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
  return (
    <div data-testid="assistant" data-message={message.id}>
      {message.content.map((part, index) => {
        if (part.type === 'reasoning') return part.text === '' ? null : <Reasoning key={index} text={part.text} />
        return part.type === 'text' ? <Markdown key={index} text={part.text} /> : null
      })}
      <Calls calls={calls} renderCall={renderCall} />
    </div>
  )
}

/** Answer that is being received. */
export function OpenAnswer({ open, renderCall }: AnswerProps & { readonly open: OpenMessage }) {
  const calls = open.blocks.flatMap((block) => (block.type === 'tool-call' ? [block.toolCallId] : []))
  return (
    <div data-testid="assistant" data-message={open.messageId} data-open="true">
      {open.blocks.map((block) => {
        if (block.type === 'reasoning') return <Reasoning key={block.index} text={block.text} streaming={!block.closed} />
        return block.type === 'text' ? <Markdown key={block.index} text={block.text} streaming={!block.closed} /> : null
      })}
      <Calls calls={calls} renderCall={renderCall} />
      {open.blocks.length === 0 && <Waiting />}
    </div>
  )
}

function Calls({ calls, renderCall }: AnswerProps & { readonly calls: readonly string[] }) {
  if (calls.length === 0) return null
  return <div className={`mt-3 grid gap-2 ${calls.length > 1 ? 'xl:grid-cols-2' : ''}`}>{calls.map(renderCall)}</div>
}

export function Waiting() {
  return (
    <p className="flex gap-1 py-2">
      <span className="sr-only">The model is about to answer.</span>
      {[0, 1, 2].map((dot) => (
        <span key={dot} className="size-1.5 animate-pulse rounded-full bg-ink-soft" style={{ animationDelay: `${dot * 160}ms` }} />
      ))}
    </p>
  )
}

function textOf(message: UserMessage): string {
  if (typeof message.content === 'string') return message.content
  return message.content.map((part) => (part.type === 'text' ? part.text : `[${part.filename ?? part.mediaType}]`)).join('\n')
}
