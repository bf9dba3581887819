import { bowline } from '../../../../lib/bowline.ts'

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

/** `/api/chat`, `/api/chat/<id>`, `/api/chat/<id>/stream` and `/api/chat/<id>/stop`: what `useChat` and the page ask for. */
async function handle(request: Request): Promise<Response> {
  return (await bowline()).fetch(request)
}

export { handle as GET, handle as POST }
