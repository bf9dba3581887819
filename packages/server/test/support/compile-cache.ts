import { fileURLToPath } from 'node:url'

/** What Node has compiled once it need not compile for each process again: most of the time that a start from sources takes. */
export const compileCache = { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../../../node_modules/.cache/bowline/compile', import.meta.url)) }
