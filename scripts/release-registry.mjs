// Registry on loopback for the rehearsal of a release.
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runServer } from 'verdaccio'

/**
 * @typedef {object} Registry
 * @property {string} url ends with a slash
 * @property {string} npmrc lines that make npm, pnpm and bun use it for the packages of our scope
 * @property {() => Promise<void>} close
 */

/**
 * Starts a registry for the packages of our scope. It runs in this process and ends with it.
 *
 * @param {string} folder for all its files
 * @returns {Promise<Registry>}
 */
export async function startRegistry(folder) {
  mkdirSync(folder, { recursive: true })
  const server = await runServer({
    configPath: join(folder, 'config.yaml'),
    self_path: folder,
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd') } },
    packages: { '@bowline/*': { access: '$all', publish: '$authenticated' } },
    log: { type: 'stdout', format: 'pretty', level: 'fatal' },
    web: { enable: false },
    max_body_size: '50mb',
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${server.address().port}`
  return {
    url: `http://${host}/`,
    npmrc: `@bowline:registry=http://${host}/\n//${host}/:_authToken=${await createToken(`http://${host}/`)}\n`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** @param {string} url */
async function createToken(url) {
  const name = 'rehearsal'
  const response = await fetch(`${url}-/user/org.couchdb.user:${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, password: crypto.randomUUID() }),
  })
  if (!response.ok) throw new Error(`The registry gave no token: ${response.status} ${await response.text()}`)
  const { token } = /** @type {{ token: string }} */ (await response.json())
  return token
}
