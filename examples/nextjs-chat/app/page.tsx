import { Chat } from './chat.tsx'

/** Shows the conversation of `/?chat=<id>`: each id is its own conversation. */
export default async function Page({ searchParams }: { readonly searchParams: Promise<{ readonly chat?: string }> }) {
  const { chat = 'default' } = await searchParams
  return <Chat id={chat} />
}
