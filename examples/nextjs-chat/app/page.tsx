import { Chat } from './chat.tsx'

/** `/?chat=<id>`: each id is a conversation. */
export default async function Page({ searchParams }: { readonly searchParams: Promise<{ readonly chat?: string }> }) {
  const { chat = 'default' } = await searchParams
  return <Chat id={chat} />
}
