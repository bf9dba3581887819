import { createClient } from '@bowline/client'

/** Client of the page. The cookie of the page authenticates it. It retries often, because a killed server is back quickly. */
export const pageClient = createClient({ baseUrl: '', reconnect: { baseMs: 150, maxMs: 2000 } })
