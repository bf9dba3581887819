// The program of a worker with an `entry`: runs that module after the token has left the environment and stdout is kept
// for the protocol, so that neither its imports nor its top level can see the one or disturb the other.
import { pathToFileURL } from 'node:url'
import { prepareStart } from './own-start.ts'

prepareStart()
const [, , entry = ''] = process.argv
process.argv.splice(1, 1)
await import(pathToFileURL(entry).href)
