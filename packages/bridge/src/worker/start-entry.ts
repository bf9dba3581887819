// The program of a worker with an `entry`. It runs that module after the token is removed from stdin and stdout is reserved for the
// protocol. So neither the imports of the module nor its top level can see the token or disturb the protocol.
import { pathToFileURL } from 'node:url'
import { prepareStart } from './own-start.ts'

await prepareStart()
const [, , entry = ''] = process.argv
process.argv.splice(1, 1)
await import(pathToFileURL(entry).href)
