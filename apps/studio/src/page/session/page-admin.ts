import { createAdmin } from '@bowline/client/admin'

/** Admin client of the page. The cookie of the page authenticates it. */
export const pageAdmin = createAdmin({ baseUrl: '' })
