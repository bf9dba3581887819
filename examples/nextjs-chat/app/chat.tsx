'use client'

import { useChat } from '@ai-sdk/react'
import { createChatClient, type ChatHistory, type InferAgentUIMessage } from '@bowline/client/chat'
import { useEffect, useState } from 'react'
import type { assistant } from '../lib/bowline.ts'

type Message = InferAgentUIMessage<typeof assistant>

const chats = createChatClient<Message>({ baseUrl: '' }) // the origin of the page

/** Loads the earlier messages, then shows the conversation. */
export function Chat({ id }: { readonly id: string }) {
  const [history, setHistory] = useState<ChatHistory<Message>>()
  useEffect(() => {
    void chats.load(id).then(setHistory)
  }, [id])
  return history ? <Conversation id={id} history={history} /> : <p>Loading …</p>
}

function Conversation({ id, history }: { readonly id: string; readonly history: ChatHistory<Message> }) {
  // With `resume`, an answer that is being written continues after a reload.
  const chat = useChat<Message>({ id, messages: history.messages, transport: chats.transport, resume: true })
  const send = (form: FormData): void => {
    const text = form.get('text')
    if (typeof text === 'string') void chat.sendMessage({ text })
  }
  const isBusy = chat.status === 'submitted' || chat.status === 'streaming'
  return (
    <main>
      {chat.messages.map((message) => (
        <p key={message.id}>
          <b>{message.role}:</b> {message.parts.map((part) => (part.type === 'text' ? part.text : ''))}
        </p>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form action={send}>
        <input name="text" placeholder="Say something" required />
        <button disabled={isBusy}>Send</button>
        {/* `chat.stop()` would only stop the reading; this stops the answer. */}
        <button type="button" disabled={!isBusy} onClick={() => void chats.stop(id)}>
          Stop
        </button>
      </form>
    </main>
  )
}
