import { bowline } from '../../../../lib/bowline.ts'

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

/**
 * Handles `/api/chat`, `/api/chat/<id>`, `/api/chat/<id>/stream` and `/api/chat/<id>/stop`: the requests of `useChat` and the page.
 */
async function handle(request: Request): Promise<Response> {
  return (await bowline()).fetch(request)
}

export { handle as GET, handle as POST }
