// Size limits of the code that a page or a function loads. The `size` gate checks them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Resolves packages of this repository to their builds, which the registry will have. */
const asPublished = {
  name: 'as-published',
  /** @param {string} source */
  resolveId(source) {
    const [, name, subpath = ''] = /^@bowline\/([^/]+)(\/.+)?$/.exec(source) ?? []
    if (name === undefined) return undefined
    const folder = join(import.meta.dirname, 'packages', name)
    const { publishConfig, sideEffects } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = publishConfig.exports[`.${subpath}`].default
    return { id: join(folder, file), moduleSideEffects: sideEffects === true || (Array.isArray(sideEffects) && sideEffects.includes(file)) }
  },
}

const llm = ['ai', 'zod']
const node = ['node:crypto', 'node:dns/promises', 'node:fs', 'node:http', 'node:https', 'node:net', 'node:path', 'node:tls', 'node:zlib']

export default [
  { name: 'client', path: 'packages/client/dist/index.js', gzip: true, limit: '15 kB' },
  { name: 'client/admin', path: 'packages/client/dist/admin.js', gzip: true, limit: '6 kB' },
  { name: 'client/chat', path: 'packages/client/dist/chat.js', gzip: true, ignore: ['ai'], limit: '6 kB' },
  { name: 'agent-loop/events', path: 'packages/agent-loop/dist/events/index.js', gzip: true, limit: '4 kB' },
  {
    name: 'agent-loop, defineTool alone with all that it needs',
    path: 'packages/agent-loop/dist/index.js',
    import: '{ defineTool }',
    gzip: true,
    modifyRolldownConfig: (config) => ({ ...config, plugins: [asPublished] }),
    limit: '5.5 kB',
  },
  { name: 'agent-loop', path: 'packages/agent-loop/dist/index.js', gzip: true, ignore: ['@bowline/llm', ...llm], limit: '84.5 kB' },
  { name: 'llm', path: 'packages/llm/dist/index.js', gzip: true, ignore: [...llm, 're2js'], limit: '46 kB' },
  {
    name: 'sessions',
    path: 'packages/sessions/dist/index.js',
    gzip: true,
    // `croner` is loaded with the first cron rule only.
    ignore: ['@bowline/agent-loop', '@bowline/llm', '@bowline/postgres', '@bowline/redis', 'croner', 'kysely', ...llm, ...node],
    limit: '112.5 kB',
  },
]
