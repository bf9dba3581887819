import { createAdmin } from '@bowline/client/admin'

/** Looks after sessions; the page's cookie says who it is. */
export const pageAdmin = createAdmin({ baseUrl: '' })
