// INSTALLED_PROJECT=<folder> node --import use-installed.ts: loads the imports of the files in this folder from a project into
// which the Bowline packages were installed from their tarballs.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const project = process.env['INSTALLED_PROJECT']
if (project === undefined) throw new Error('INSTALLED_PROJECT is not set. Set it to the folder of the project.')

const here = pathToFileURL(join(import.meta.dirname, '/')).href
const parentURL = pathToFileURL(join(project, 'index.js')).href

registerHooks({
  resolve(specifier, context, next) {
    const isPackage = /^(?:@[^/]+\/)?[a-z][^:]*$/.test(specifier)
    const isOurs = context.parentURL?.startsWith(here) === true
    return next(specifier, isPackage && isOurs ? { ...context, parentURL } : context)
  },
})
